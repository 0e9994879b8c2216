/*
 * subcommands.c
 *		What the subcommands of programs do: git diff, pip install, npm test.
 */
#include "postgres.h"

#include "signatures/shell/programs.h"

/* What docker and its like do. */
#define CONTAINER_ASKS \
	" ps images image ls inspect logs info version --version stats top port diff " \
	"history events search config container network volume get describe explain " \
	"api-resources cluster-info help "
#define CONTAINER_CHANGES \
	" rm rmi cp rename tag delete "
#define CONTAINER_RUNS \
	" run exec start stop restart kill build up down create push apply attach "

/*
 * Subcommands by program; " * " stands for any.  The first row that fits counts.
 * THINK is for what only changes the shell, EXECUTE for what would be taken for
 * something else by its name.  The verb tells actions of one category apart: of
 * a fileop the subcommand's own name unless another says the same, of an install
 * nothing where a package comes.
 */
static const Subcommand subcommands[] = {
	{" pip pip3 pipx ", " install download wheel upgrade inject sync compile ", ACTION_INSTALL, NULL},
	{" pip pip3 pipx ", " uninstall uninject ", ACTION_INSTALL, "remove"},
	{" pip pip3 pipx ",
		" list show freeze check search index inspect help --version -V config debug "
		"cache ", ACTION_SEARCH, NULL},
	{" npm pnpm yarn bun ",
		" install i ci add update upgrade link rebuild up ", ACTION_INSTALL, NULL},
	{" npm pnpm yarn bun ", " remove uninstall rm un unlink prune ", ACTION_INSTALL, "remove"},
	{" npm pnpm yarn bun ", " test t tst run-test ", ACTION_TEST, NULL},
	{" npm pnpm yarn bun ",
		" ls list view info outdated why --version -v help config audit ", ACTION_SEARCH, NULL},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper emerge pacman ",
		" install update upgrade add reinstall build-dep dist-upgrade localinstall "
		"groupinstall tap refresh -S -Sy -Syu ", ACTION_INSTALL, NULL},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper emerge pacman ",
		" remove uninstall purge autoremove del erase -R ", ACTION_INSTALL, "remove"},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper pacman ",
		" list search show info policy --version help -Q -Qs -Ss ", ACTION_SEARCH, NULL},
	{" conda mamba micromamba ",
		" install create update upgrade env init clean ", ACTION_INSTALL, NULL},
	{" conda mamba micromamba ", " remove uninstall ", ACTION_INSTALL, "remove"},
	{" conda mamba micromamba ", " list info search config --version ", ACTION_SEARCH, NULL},
	{" conda mamba micromamba ", " activate deactivate ", ACTION_THINK, NULL},
	{" poetry pdm rye uv pipenv ",
		" install add update lock sync pip venv tool python init ", ACTION_INSTALL, NULL},
	{" poetry pdm rye uv pipenv ", " remove uninstall ", ACTION_INSTALL, "remove"},
	{" poetry pdm rye uv pipenv ", " show list tree --version check ", ACTION_SEARCH, NULL},
	{" hatch ", " test ", ACTION_TEST, NULL},
	{" hatch ", " env ", ACTION_INSTALL, NULL},
	{" gem bundle composer opam luarocks cpan cpanm nuget asdf rustup ",
		" install update add require upgrade default component toolchain global plugin ", ACTION_INSTALL, NULL},
	{" gem bundle composer opam luarocks cpan cpanm nuget asdf rustup ",
		" remove uninstall ", ACTION_INSTALL, "remove"},
	{" gem bundle composer opam luarocks rustup ",
		" list show info search which --version outdated check ", ACTION_SEARCH, NULL},
	{" cargo ", " test t nextest ", ACTION_TEST, NULL},
	{" cargo ", " install add update fetch ", ACTION_INSTALL, NULL},
	{" cargo ", " remove rm uninstall ", ACTION_INSTALL, "remove"},
	{" cargo ", " tree search metadata --version ", ACTION_SEARCH, NULL},
	{" cargo ", " new init ", ACTION_FILEOP, NULL},
	{" cargo ", " fmt fix ", ACTION_MODIFY, NULL},
	{" go ", " test ", ACTION_TEST, NULL},
	{" go ", " get install mod ", ACTION_INSTALL, NULL},
	{" go ", " list version env doc help ", ACTION_SEARCH, NULL},
	{" go ", " fmt ", ACTION_MODIFY, NULL},
	{" mvn mvnw gradle gradlew sbt dotnet mix stack cabal deno ",
		" test check verify surefire:test integration-test testOnly connectedCheck ", ACTION_TEST, NULL},
	{" mvn mvnw sbt dotnet mix stack cabal ",
		" install restore deps.get add update setup ", ACTION_INSTALL, NULL},
	{" mvn mvnw gradle gradlew sbt dotnet mix stack cabal deno ",
		" --version -v -version tasks dependencies --info help ", ACTION_SEARCH, NULL},
	{" easy_install cpanm venv virtualenv ensurepip ", " * ", ACTION_INSTALL, NULL},
	{" pre-commit ", " install ", ACTION_INSTALL, NULL},
	{" dpkg ", " -i --install --configure ", ACTION_INSTALL, NULL},
	{" dpkg ", " -r -P --remove --purge ", ACTION_INSTALL, "remove"},
	{" dpkg ", " -l -L -s -S --list --listfiles --status --search --print-architecture ", ACTION_SEARCH, NULL},
	{" rpm ", " -i -U -ivh -Uvh --import ", ACTION_INSTALL, NULL},
	{" rpm ", " -e --erase ", ACTION_INSTALL, "remove"},
	{" rpm ", " -q -qa -ql -qi -qf ", ACTION_SEARCH, NULL},
	{" django-admin django manage.py ", " test ", ACTION_TEST, NULL},
	{" django-admin django manage.py ", " startapp startproject makemigrations ", ACTION_CREATE, NULL},
	{" django-admin django manage.py ",
		" check showmigrations diffsettings inspectdb sqlmigrate help ", ACTION_SEARCH, NULL},
	{" setup.py ", " test ", ACTION_TEST, NULL},
	{" setup.py ", " install develop ", ACTION_INSTALL, NULL},
	{" setup.py ", " --version --name ", ACTION_SEARCH, NULL},
	{" npx ", " jest mocha vitest ava karma playwright cypress tap tape ", ACTION_TEST, NULL},
	{" git hub ",
		" status log show diff blame grep branch remote describe rev-parse rev-list "
		"ls-files ls-tree ls-remote cat-file shortlog reflog config whatchanged "
		"merge-base name-rev cherry diff-tree diff-index diff-files show-ref "
		"show-branch for-each-ref count-objects fsck var help version --version bisect "
		"check-ignore annotate difftool symbolic-ref ", ACTION_SEARCH, NULL},
	{" git hub ",
		" checkout restore reset stash clean revert rm mv add commit merge rebase "
		"cherry-pick pull fetch clone init switch worktree push tag submodule gc rerere "
		"notes filter-branch update-index bundle archive format-patch prune lfs ", ACTION_FILEOP, NULL},
	{" git hub ", " apply am ", ACTION_MODIFY, NULL},
	{" docker docker-compose podman podman-compose kubectl ", CONTAINER_ASKS, ACTION_SEARCH, NULL},
	{" docker docker-compose podman podman-compose ", " pull load import ", ACTION_INSTALL, NULL},
	{" docker docker-compose podman podman-compose kubectl ", CONTAINER_CHANGES, ACTION_FILEOP, NULL},
	{" docker docker-compose podman podman-compose kubectl ", CONTAINER_RUNS, ACTION_EXECUTE, NULL},
};

/* Those of subcommands, by both names: git stash pop. */
static const Subcommand inner_subcommands[] = {
	{" conda-env mamba-env micromamba-env ", " list ", ACTION_SEARCH, NULL},
	{" conda-env mamba-env micromamba-env ", " create update ", ACTION_INSTALL, NULL},
	{" conda-env mamba-env micromamba-env ", " remove ", ACTION_INSTALL, "remove"},
	{" git-stash ", " list show ", ACTION_SEARCH, NULL},
	{" git-stash ", " pop apply ", ACTION_FILEOP, "pop"},
	{" git-stash ", " drop clear ", ACTION_FILEOP, "drop"},
	{" git-worktree git-submodule git-bundle git-notes git-lfs ",
		" list show status summary verify ls-files ", ACTION_SEARCH, NULL},
	{" docker-image docker-container docker-network docker-volume podman-image podman-container ",
		" rm prune create run exec start stop restart kill build connect disconnect ", ACTION_EXECUTE, NULL},
	{" docker-compose podman-compose ", CONTAINER_ASKS, ACTION_SEARCH, NULL},
	{" docker-compose podman-compose ", " pull load import ", ACTION_INSTALL, NULL},
	{" docker-compose podman-compose ", CONTAINER_CHANGES, ACTION_FILEOP, NULL},
	{" docker-compose podman-compose ", CONTAINER_RUNS, ACTION_EXECUTE, NULL},
};

static const Subcommand *
find_in(const Subcommand *table, int n, const char *program, const char *name)
{
	int			i;

	/* No subcommand is longer, and a long word must not be searched for often. */
	if (strlen(name) > MAX_LISTED)
		return NULL;
	for (i = 0; i < n; i++)
		if (is_listed(table[i].programs, ' ', program) &&
			(strcmp(table[i].names, " * ") == 0 || is_listed(table[i].names, ' ', name)))
			return &table[i];
	return NULL;
}

/* What a program's subcommand does; NULL if it is not known. */
const Subcommand *
find_subcommand(const char *program, const char *name)
{
	return find_in(subcommands, lengthof(subcommands), program, name);
}

/* The same of a subcommand's own subcommand. */
const Subcommand *
find_inner_subcommand(const char *program, const char *name, const char *inner)
{
	char		both[2 * MAX_LISTED];

	if (strlen(name) > MAX_LISTED || strlen(program) + strlen(name) + 2 > sizeof(both))
		return NULL;
	snprintf(both, sizeof(both), "%s-%s", program, name);
	return find_in(inner_subcommands, lengthof(inner_subcommands), both, inner);
}

/* What tells it from others of its category; data NULL if nothing has to. */
Span
subcommand_verb(const Subcommand *subcommand, Span name)
{
	if (subcommand->verb != NULL)
		return span_of(subcommand->verb);
	return subcommand->category == ACTION_FILEOP ? name : span_none();
}
