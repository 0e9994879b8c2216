"""stepadv check, with rows whose summary is known."""

from support import Case, Said

from stepadv import database


class CheckTest(Case):
    schema = "checked"

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.connection.execute("SELECT count(*) FROM stepadv.create_tables('checked', partitions => 2, group_by => '{task_id}')")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.connection.execute("SELECT stepadv.detach('checked.rollout_rows'); DROP SCHEMA checked CASCADE")
        super().tearDownClass()

    def setUp(self) -> None:
        super().setUp()
        self.connection.execute("DELETE FROM checked.rollouts")

    def fill(self, outcomes: str) -> None:
        """Two tasks of two rollouts of two steps: of the three states of a task, the rollouts share the first."""
        self.connection.execute(f"INSERT INTO checked.rollouts (task_id, rollout_id, outcome) SELECT 't' || t, 'r' || r, {outcomes} FROM generate_series(1, 2) t, generate_series(1, 2) r")
        self.connection.execute("INSERT INTO checked.steps (task_id, rollout_id, step_no, observation, action)"
                                " SELECT 't' || t, 'r' || r, n, CASE n WHEN 0 THEN 'begin' ELSE 'end ' || r END, 'go' FROM generate_series(1, 2) t, generate_series(1, 2) r, generate_series(0, 1) n")

    def check(self, status: int, *arguments: str) -> Said:
        said = self.stepadv("check", *(arguments or ("checked.steps",)))
        self.assertEqual((said.status, said.err), (status, ""), said.out)
        return said

    def test_fine(self) -> None:
        """the summary of an attachment"""
        self.fill("CASE WHEN t = 1 THEN r - 1 ELSE 1 END")
        version = self.value("SELECT extversion FROM pg_extension WHERE extname = 'stepadv'")
        self.assertEqual(self.check(0).out, f"""database {self.value("SELECT current_database()")}: stepadv {version}, like this program
checked.steps
  2 groups, 2 judged; 1 informative (rollouts with different verdicts)
  50 % of 8 steps in states that another rollout shares
  4 rollouts, 4 judged, 3 successful
  all rows can be used
  groups are folded when they are read
""")

    def test_nothing_to_learn(self) -> None:
        """no groups, no informative group, no judged rollout"""
        self.assertIn("! no groups\n", self.check(1).out)
        self.fill("1")
        self.assertIn("! no group has rollouts with different verdicts", self.check(1).out)
        self.connection.execute("UPDATE checked.rollouts SET outcome = NULL WHERE task_id = 't1'")
        self.assertIn("  50 % of 4 steps in states", self.check(1).out, "only groups with verdicts have states to compare")
        self.connection.execute("UPDATE checked.rollouts SET outcome = NULL")
        self.assertIn("! no rollout is judged", self.check(1).out)

    def test_problems(self) -> None:
        """invalid rows"""
        self.connection.execute("CREATE TABLE checked.own AS SELECT 1 AS g, r, n, 's' AS s, 'a' AS a, CASE WHEN n = 1 THEN r::float8 END AS reward"
                                " FROM generate_series(1, 4) r, generate_series(0, 1) n; UPDATE checked.own SET reward = 'NaN' WHERE r = 2")
        self.connection.execute("SELECT stepadv.attach('checked.own', '{g}', 'r', 'n', 's', 'a', 'reward')")
        try:
            self.assertRegex(self.check(1, "checked.own").out, r"\n! \d rows? in 1 group: [^(]*reward[^(]*\(.*\)\n")
        finally:
            self.connection.execute("SELECT stepadv.detach('checked.own'); DROP TABLE checked.own")

    def test_kept(self) -> None:
        """whether kept groups are fresh"""
        self.fill("r - 1")
        self.connection.execute("SELECT stepadv.maintain('checked.rollout_rows')")
        try:
            self.assertIn("  groups are kept by triggers, as of now\n", self.check(0).out)
            self.connection.execute("ALTER TABLE checked.steps DISABLE TRIGGER USER")
            self.assertIn("! groups are kept by triggers: ", self.check(1).out)
            self.connection.execute("ALTER TABLE checked.steps ENABLE TRIGGER USER")
        finally:
            self.connection.execute("SELECT stepadv.unmaintain('checked.rollout_rows')")
        self.connection.execute("SELECT stepadv.maintain('checked.rollout_rows', mode => 'refresh')")
        try:
            self.assertRegex(self.check(0).out, r"  groups are kept by refresh, as of \d{4}-.* \(0:00:0\d ago\)\n")
        finally:
            self.connection.execute("SELECT stepadv.unmaintain('checked.rollout_rows')")

    def test_names(self) -> None:
        """attachments by their names, versions that differ"""
        said = self.stepadv("check", "checked.step")
        self.assertEqual((said.status, said.err), (2, 'stepadv check: you have no attachment checked.step; perhaps you meant "checked.steps"\n'))
        before = database.__version__
        for version, hint in (("99.1", "ALTER EXTENSION stepadv UPDATE"), ("0.0.1", "install stepadv-client")):
            database.__version__ = version
            try:
                said = self.stepadv("check")
            finally:
                database.__version__ = before
            self.assertEqual(said.status, 2)
            self.assertRegex(said.err, f"has stepadv .*, this is {version}: {hint}")
