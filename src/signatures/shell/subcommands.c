/*
 * subcommands.c
 *		What the subcommands of programs do: git diff, pip install, npm test.
 */
#include "postgres.h"

#include "signatures/shell/programs.h"

/* What docker and similar programs do. */
#define CONTAINER_ASKS \
	" ps images image ls inspect logs info version --version stats top port diff " \
	"history events search config container network volume get describe explain " \
	"api-resources cluster-info help "
#define CONTAINER_CHANGES \
	" rm rmi cp rename tag delete "
#define CONTAINER_RUNS \
	" run exec start stop restart kill build up down create push apply attach "

/*
 * Subcommands by program; " * " matches any.  The first matching row counts.  THINK marks subcommands that
 * only change the shell.  EXECUTE keeps subcommands such as docker run from being read as scripts of a
 * project.  The verb distinguishes effects of one category: by default the subcommand's own name for a fileop
 * or a run, none otherwise.
 */
static const Subcommand subcommands[] = {
	{" pip pip3 pipx ", " install download wheel upgrade inject sync compile ", EFFECT_INSTALL, NULL},
	{" pip pip3 pipx ", " uninstall uninject ", EFFECT_INSTALL, "remove"},
	{" pip pip3 pipx ",
		" list show freeze check search index inspect help --version -V config debug "
		"cache ", EFFECT_SEARCH, NULL},
	{" npm pnpm yarn bun ",
		" install i ci add update upgrade link rebuild up ", EFFECT_INSTALL, NULL},
	{" npm pnpm yarn bun ", " remove uninstall rm un unlink prune ", EFFECT_INSTALL, "remove"},
	{" npm pnpm yarn bun ", " test t tst run-test ", EFFECT_TEST, NULL},
	{" npm pnpm yarn bun ",
		" ls list view info outdated why --version -v help config audit ", EFFECT_SEARCH, NULL},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper emerge pacman ",
		" install update upgrade add reinstall build-dep dist-upgrade localinstall "
		"groupinstall tap refresh -S -Sy -Syu ", EFFECT_INSTALL, NULL},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper emerge pacman ",
		" remove uninstall purge autoremove del erase -R ", EFFECT_INSTALL, "remove"},
	{" apt apt-get aptitude yum dnf microdnf apk brew snap port zypper pacman ",
		" list search show info policy --version help -Q -Qs -Ss ", EFFECT_SEARCH, NULL},
	{" conda mamba micromamba ",
		" install create update upgrade env init clean ", EFFECT_INSTALL, NULL},
	{" conda mamba micromamba ", " remove uninstall ", EFFECT_INSTALL, "remove"},
	{" conda mamba micromamba ", " list info search config --version ", EFFECT_SEARCH, NULL},
	{" conda mamba micromamba ", " activate deactivate ", EFFECT_THINK, NULL},
	{" poetry pdm rye uv pipenv ",
		" install add update lock sync pip venv tool python init ", EFFECT_INSTALL, NULL},
	{" poetry pdm rye uv pipenv ", " remove uninstall ", EFFECT_INSTALL, "remove"},
	{" poetry pdm rye uv pipenv ", " show list tree --version check ", EFFECT_SEARCH, NULL},
	{" hatch ", " test ", EFFECT_TEST, NULL},
	{" hatch ", " env ", EFFECT_INSTALL, NULL},
	{" gem bundle composer opam luarocks cpan cpanm nuget asdf rustup ",
		" install update add require upgrade default component toolchain global plugin ", EFFECT_INSTALL, NULL},
	{" gem bundle composer opam luarocks cpan cpanm nuget asdf rustup ",
		" remove uninstall ", EFFECT_INSTALL, "remove"},
	{" gem bundle composer opam luarocks rustup ",
		" list show info search which --version outdated check ", EFFECT_SEARCH, NULL},
	{" cargo ", " test t nextest ", EFFECT_TEST, NULL},
	{" cargo ", " install add update fetch ", EFFECT_INSTALL, NULL},
	{" cargo ", " remove rm uninstall ", EFFECT_INSTALL, "remove"},
	{" cargo ", " tree search metadata --version ", EFFECT_SEARCH, NULL},
	{" cargo ", " new init ", EFFECT_FILEOP, NULL},
	{" cargo ", " fmt fix ", EFFECT_MODIFY, NULL},
	{" go ", " test ", EFFECT_TEST, NULL},
	{" go ", " get install mod ", EFFECT_INSTALL, NULL},
	{" go ", " list version env doc help ", EFFECT_SEARCH, NULL},
	{" go ", " fmt ", EFFECT_MODIFY, NULL},
	{" mvn mvnw gradle gradlew sbt dotnet mix stack cabal deno ",
		" test check verify surefire:test integration-test testOnly connectedCheck ", EFFECT_TEST, NULL},
	{" mvn mvnw sbt dotnet mix stack cabal ",
		" install restore deps.get add update setup ", EFFECT_INSTALL, NULL},
	{" mvn mvnw gradle gradlew sbt dotnet mix stack cabal deno ",
		" --version -v -version tasks dependencies --info help ", EFFECT_SEARCH, NULL},
	{" easy_install cpanm venv virtualenv ensurepip ", " * ", EFFECT_INSTALL, NULL},
	{" pre-commit ", " install ", EFFECT_INSTALL, NULL},
	{" dpkg ", " -i --install --configure ", EFFECT_INSTALL, NULL},
	{" dpkg ", " -r -P --remove --purge ", EFFECT_INSTALL, "remove"},
	{" dpkg ", " -l -L -s -S --list --listfiles --status --search --print-architecture ", EFFECT_SEARCH, NULL},
	{" rpm ", " -i -U -ivh -Uvh --import ", EFFECT_INSTALL, NULL},
	{" rpm ", " -e --erase ", EFFECT_INSTALL, "remove"},
	{" rpm ", " -q -qa -ql -qi -qf ", EFFECT_SEARCH, NULL},
	{" django-admin django manage.py ", " test ", EFFECT_TEST, NULL},
	{" django-admin django manage.py ", " startapp startproject ", EFFECT_CREATE, NULL},
	{" django-admin django manage.py ",
		" check showmigrations diffsettings inspectdb sqlmigrate help ", EFFECT_SEARCH, NULL},
	{" setup.py ", " test ", EFFECT_TEST, NULL},
	{" setup.py ", " install develop ", EFFECT_INSTALL, NULL},
	{" setup.py ", " --version --name ", EFFECT_SEARCH, NULL},
	{" npx ", " jest mocha vitest ava karma playwright cypress tap tape ", EFFECT_TEST, NULL},
	{" git hub ",
		" status log show diff blame grep branch remote describe rev-parse rev-list "
		"ls-files ls-tree ls-remote cat-file shortlog reflog config whatchanged "
		"merge-base name-rev cherry diff-tree diff-index diff-files show-ref "
		"show-branch for-each-ref count-objects fsck var help version --version bisect "
		"check-ignore annotate difftool symbolic-ref ", EFFECT_SEARCH, NULL},
	{" git hub ",
		" checkout restore reset stash clean revert rm mv add commit merge rebase "
		"cherry-pick pull fetch clone init switch worktree push tag submodule gc rerere "
		"notes filter-branch update-index bundle archive format-patch prune lfs ", EFFECT_FILEOP, NULL},
	{" git hub ", " apply am ", EFFECT_MODIFY, NULL},
	{" nginx ", " -t -T ", EFFECT_SEARCH, NULL},
	{" systemctl ",
		" status show cat list-units list-unit-files list-timers list-sockets is-active "
		"is-enabled is-failed get-default help ", EFFECT_SEARCH, NULL},
	{" docker docker-compose podman podman-compose kubectl ", CONTAINER_ASKS, EFFECT_SEARCH, NULL},
	{" docker docker-compose podman podman-compose ", " pull load import ", EFFECT_INSTALL, NULL},
	{" docker docker-compose podman podman-compose kubectl ", CONTAINER_CHANGES, EFFECT_FILEOP, NULL},
	{" docker docker-compose podman podman-compose kubectl ", CONTAINER_RUNS, EFFECT_EXECUTE, NULL},
};

/* Subcommands of subcommands, by both names: git stash pop. */
static const Subcommand inner_subcommands[] = {
	{" conda-env mamba-env micromamba-env ", " list ", EFFECT_SEARCH, NULL},
	{" conda-env mamba-env micromamba-env ", " create update ", EFFECT_INSTALL, NULL},
	{" conda-env mamba-env micromamba-env ", " remove ", EFFECT_INSTALL, "remove"},
	{" git-stash ", " list show ", EFFECT_SEARCH, NULL},
	{" git-stash ", " pop apply ", EFFECT_FILEOP, "pop"},
	{" git-stash ", " drop clear ", EFFECT_FILEOP, "drop"},
	{" git-worktree git-submodule git-bundle git-notes git-lfs ",
		" list show status summary verify ls-files ", EFFECT_SEARCH, NULL},
	{" docker-image docker-container docker-network docker-volume podman-image podman-container ",
		" rm prune create run exec start stop restart kill build connect disconnect ", EFFECT_EXECUTE, NULL},
	{" docker-compose podman-compose ", CONTAINER_ASKS, EFFECT_SEARCH, NULL},
	{" docker-compose podman-compose ", " pull load import ", EFFECT_INSTALL, NULL},
	{" docker-compose podman-compose ", CONTAINER_CHANGES, EFFECT_FILEOP, NULL},
	{" docker-compose podman-compose ", CONTAINER_RUNS, EFFECT_EXECUTE, NULL},
};

static const Subcommand *
find_in(const Subcommand *table, int n, const char *program, const char *name)
{
	/* No subcommand is longer, and long words must not be searched for often. */
	if (strlen(name) > MAX_LISTED)
		return NULL;
	for (int i = 0; i < n; i++)
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

/* The same for a subcommand's own subcommand. */
const Subcommand *
find_inner_subcommand(const char *program, const char *name, const char *inner)
{
	char		both[2 * MAX_LISTED];

	if (strlen(name) > MAX_LISTED || strlen(program) + strlen(name) + 2 > sizeof(both))
		return NULL;
	snprintf(both, sizeof(both), "%s-%s", program, name);
	return find_in(inner_subcommands, lengthof(inner_subcommands), both, inner);
}

/* The verb that distinguishes it from others of its category; data NULL if there is none. */
Span
subcommand_verb(const Subcommand *subcommand, Span name)
{
	if (subcommand->verb != NULL)
		return span_of(subcommand->verb);
	return subcommand->category == EFFECT_FILEOP || subcommand->category == EFFECT_EXECUTE ? name : span_none();
}
