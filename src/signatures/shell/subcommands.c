/*
 * subcommands.c
 *		What the subcommands of programs do: git diff, pip install, npm test.
 */
#include "postgres.h"

#include "signatures/shell/programs.h"

typedef struct Subcommand
{
	const char *programs;		/* " a b " */
	const char *names;
	uint8		category;
} Subcommand;

/*
 * Subcommands by program; " * " stands for any.  The first row that fits counts.
 * THINK is for what only changes the shell.
 */
static const Subcommand subcommands[] = {
	{" pip pip3 pipx ", " install uninstall download wheel upgrade inject sync compile ", ACTION_INSTALL},
	{" pip pip3 pipx ",
		" list show freeze check search index inspect help --version -V config debug "
		"cache ", ACTION_SEARCH},
	{" npm pnpm yarn bun ",
		" install i ci add remove uninstall rm update upgrade link rebuild up ", ACTION_INSTALL},
	{" npm pnpm yarn bun ", " test t tst run-test ", ACTION_TEST},
	{" npm pnpm yarn bun ",
		" ls list view info outdated why --version -v help config audit ", ACTION_SEARCH},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper emerge pacman ",
		" install update upgrade remove purge autoremove add del reinstall build-dep "
		"dist-upgrade localinstall groupinstall tap refresh -S -Sy -Syu -R ", ACTION_INSTALL},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper pacman ",
		" list search show info policy --version help -Q -Qs -Ss ", ACTION_SEARCH},
	{" conda mamba micromamba ",
		" install create update upgrade remove uninstall env init clean ", ACTION_INSTALL},
	{" conda mamba micromamba ", " list info search config --version ", ACTION_SEARCH},
	{" conda mamba micromamba ", " activate deactivate ", ACTION_THINK},
	{" poetry pdm rye uv pipenv ",
		" install add remove update lock sync pip venv tool python init ", ACTION_INSTALL},
	{" poetry pdm rye uv pipenv ", " show list tree --version check ", ACTION_SEARCH},
	{" hatch ", " test ", ACTION_TEST},
	{" hatch ", " env ", ACTION_INSTALL},
	{" gem bundle composer opam luarocks cpan cpanm nuget asdf rustup ",
		" install update add require remove uninstall upgrade default component "
		"toolchain global plugin ", ACTION_INSTALL},
	{" gem bundle composer opam luarocks rustup ",
		" list show info search which --version outdated check ", ACTION_SEARCH},
	{" cargo ", " test t nextest ", ACTION_TEST},
	{" cargo ", " install add update fetch remove ", ACTION_INSTALL},
	{" cargo ", " tree search metadata --version ", ACTION_SEARCH},
	{" cargo ", " new init ", ACTION_FILEOP},
	{" cargo ", " fmt fix ", ACTION_MODIFY},
	{" go ", " test ", ACTION_TEST},
	{" go ", " get install mod ", ACTION_INSTALL},
	{" go ", " list version env doc help ", ACTION_SEARCH},
	{" go ", " fmt ", ACTION_MODIFY},
	{" mvn mvnw gradle gradlew sbt dotnet mix stack cabal deno ",
		" test check verify surefire:test integration-test testOnly connectedCheck ", ACTION_TEST},
	{" mvn mvnw sbt dotnet mix stack cabal ",
		" install restore deps.get add update setup ", ACTION_INSTALL},
	{" mvn mvnw gradle gradlew sbt dotnet mix stack cabal deno ",
		" --version -v -version tasks dependencies --info help ", ACTION_SEARCH},
	{" easy_install cpanm venv virtualenv ensurepip ", " * ", ACTION_INSTALL},
	{" pre-commit ", " install ", ACTION_INSTALL},
	{" dpkg ", " -i --install --configure ", ACTION_INSTALL},
	{" dpkg ", " -l -L -s -S --list --listfiles --status --search --print-architecture ", ACTION_SEARCH},
	{" rpm ", " -i -U -ivh -Uvh -e --import ", ACTION_INSTALL},
	{" rpm ", " -q -qa -ql -qi -qf ", ACTION_SEARCH},
	{" django-admin django manage.py ", " test ", ACTION_TEST},
	{" django-admin django manage.py ", " startapp startproject makemigrations ", ACTION_CREATE},
	{" django-admin django manage.py ",
		" check showmigrations diffsettings inspectdb sqlmigrate help ", ACTION_SEARCH},
	{" setup.py ", " test ", ACTION_TEST},
	{" setup.py ", " install develop ", ACTION_INSTALL},
	{" setup.py ", " --version --name ", ACTION_SEARCH},
	{" npx ", " jest mocha vitest ava karma playwright cypress tap tape ", ACTION_TEST},
	{" git hub ",
		" status log show diff blame grep branch remote describe rev-parse rev-list "
		"ls-files ls-tree ls-remote cat-file shortlog reflog config whatchanged "
		"merge-base name-rev cherry diff-tree diff-index diff-files show-ref "
		"show-branch for-each-ref count-objects fsck var help version --version bisect "
		"check-ignore annotate difftool symbolic-ref ", ACTION_SEARCH},
	{" git hub ",
		" checkout restore reset stash clean revert rm mv add commit merge rebase "
		"cherry-pick pull fetch clone init switch worktree push tag submodule gc rerere "
		"notes filter-branch update-index bundle archive format-patch prune lfs ", ACTION_FILEOP},
	{" git hub ", " apply am ", ACTION_MODIFY},
};

/* The category of a program's subcommand, -1 if it is not known. */
int
find_subcommand(const char *program, const char *name)
{
	int			i;

	/* No subcommand is longer, and a long word must not be searched for often. */
	if (strlen(name) > MAX_LISTED)
		return -1;
	for (i = 0; i < (int) lengthof(subcommands); i++)
		if (is_listed(subcommands[i].programs, ' ', program) &&
			(strcmp(subcommands[i].names, " * ") == 0 || is_listed(subcommands[i].names, ' ', name)))
			return subcommands[i].category;
	return -1;
}
