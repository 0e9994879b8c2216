-- Shell commands as coding agents write them; @ becomes the number of the row.
CREATE TABLE command_kinds (kind serial, command text);
INSERT INTO command_kinds (command) VALUES
('ls -la'),
('ls -la src/module@'),
('pwd && ls'),
('cat src/module@.py'),
('cat -n src/core/handler@.py | head -n 120'),
('cd /testbed && cat setup.cfg'),
('head -50 docs/changes/@.rst'),
('tail -n +300 src/parser@.py'),
('sed -n ''120,180p'' lib/fields/base@.py'),
('cd /testbed && sed -n ''1,80p'' tests/test_models@.py'),
('nl -ba src/forms@.py | sed -n ''330,360p'''),
('awk ''NR>=120 && NR<=180'' src/query@.py'),
('grep -rn "def get_queryset" src --include=*.py'),
('grep -rn "class Widget@" . | grep -v test | head -20'),
('cd /testbed && grep -n -A 20 -B 3 "def resolve" core/resolver@.py'),
('rg --type py "raise ValueError" src/'),
('find . -name "*.py" -path "*migrations*" | xargs grep -l "AlterField" | head'),
('find src -type f -name "test_*@.py" -exec grep -l "fixture" {} +'),
('git status'),
('git log --oneline -5 -- src/module@.py'),
('cd /testbed && git diff HEAD~1 src/module@.py'),
('git stash && python -m pytest tests/test_core@.py -q; git stash pop'),
('git checkout -- src/module@.py'),
('sed -i ''s/old_name/new_name@/g'' src/module@.py'),
('sed -i -e "42s/return None/return value/" -e ''/TODO/d'' pkg/util@.py'),
('perl -pi -e ''s/\bfoo\b/bar@/g'' lib/thing.pm'),
('echo "VERSION = ''1.@''" > src/version.py'),
('printf ''%s\n'' "one" "two" >> notes/@.txt'),
('python reproduce_@.py'),
('cd /testbed && python3 reproduce.py 2>&1 | tail -40'),
('python -c "import module@; print(module@.__version__)"'),
('PYTHONPATH=src DJANGO_SETTINGS_MODULE=settings timeout 60 python scripts/run@.py --verbose'),
('python -m pytest tests/test_module@.py -x -q'),
('cd /testbed && python -m pytest tests/test_forms.py::TestForm::test_clean_@ -xvs 2>&1 | tail -30'),
('pytest -k "not slow and widget@" --maxfail=1 --disable-warnings tests/'),
('./tests/runtests.py --settings=test_sqlite model_fields.tests@ --parallel 1'),
('python manage.py test app@.tests.ViewTests --keepdb'),
('cd frontend && npm test -- --watch=false src/widget@.test.ts'),
('go test ./pkg/server@/... -run TestHandler -count=1'),
('cargo test --package core@ --lib parser::tests -- --nocapture'),
('make test TESTS=unit@ 2>&1 | tee build/test.log | tail -n 50'),
('pip install -e . --quiet && pip list | grep -i numpy'),
('apt-get update -qq && apt-get install -y -qq libxml2-dev'),
('conda install -y -c conda-forge scipy=1.@'),
('mkdir -p /tmp/work@ && cp -r src/module@ /tmp/work@/'),
('rm -rf build dist *.egg-info && rm -f repro@.py'),
('mv src/old@.py src/new@.py && touch src/__init__.py && chmod +x bin/run@'),
('bash -c "cd /testbed && source venv/bin/activate && pytest tests/unit@"'),
('sudo -u app env MODE=test bash -lc ''cd /srv/app@ && ./manage.py migrate --noinput'''),
('for f in $(git ls-files "*.py" | head -5); do echo "== $f"; wc -l "$f"; done'),
('if [ -f setup@.py ]; then python setup@.py build_ext --inplace; else make; fi'),
('curl -s http://localhost:80@/health | python -m json.tool'),
($$cat > reproduce_@.py << 'EOF'
import sys
from package.module import Thing

def main():
    thing = Thing(name="test@", size=10)
    result = thing.compute(verbose=True)
    print("result:", result)
    assert result == {"a": 1, "b": [2, 3]}, f"got {result!r}"

if __name__ == "__main__":
    sys.exit(main())
EOF
python reproduce_@.py$$),
($$cd /testbed && python - <<'PY'
import re, pathlib
path = pathlib.Path("src/module@.py")
text = path.read_text()
text = text.replace("if value is None:", "if value is None or value == '':")
path.write_text(text)
print(re.findall(r"def (\w+)", text))
PY$$),
($$cat <<'EOF' | git apply
diff --git a/src/module@.py b/src/module@.py
--- a/src/module@.py
+++ b/src/module@.py
@@ -10,7 +10,7 @@ def convert(value):
     """Convert the value."""
-    return int(value)
+    return int(value) if value else 0
EOF$$),
($$cat >> tests/test_module@.py <<EOF

def test_empty_value():
    # $HOME stays out of it
    assert convert("") == 0
EOF$$),
('docker ps -a; docker logs --tail 50 web@ 2>&1 || true'),
('export FOO=bar@; echo "$FOO" | base64 -d 2>/dev/null; echo done'),
('cat src/a@.py src/b@.py | wc -l'),
('diff -u <(python old@.py) <(python new@.py) | head -60');
