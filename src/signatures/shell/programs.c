/*
 * programs.c
 *		The table of programs, and how a command's first word is looked up in it.
 *
 * A program that is not in the table is executed: `execute@program`.  Of a program's options, only those are
 * listed that take the next word as their value, which would otherwise be read as a file.
 */
#include "postgres.h"

#include "signatures/shell/programs.h"

/* Value options of several rows. */
#define NO_OPTIONS {"", ""}
#define LIST_NAMES \
	",max-depth,exclude,format,ignore,sort,time-style,block-size,level,printf,"
#define FILTER_OPTIONS \
	{"bclsdfktTSovjnNwAiUCx", ",width,tabs,delimiter,fields,bytes,key," \
	"line-range,language,style,color,output,"}

/* Programs that are read in the same way. */
static const struct
{
	uint8		kind;
	uint8		operands;
	ValueOptions options;
	const char *names;			/* " a b " */
}			groups[] = {
	{PROGRAM_APPLY_PATCH, 0, NO_OPTIONS, " apply_patch applypatch "},
	{PROGRAM_ASK, 0, NO_OPTIONS,
		" apropos apt-cache apt-file arch bind cal compgen complete date dig dmesg dpkg-query enable finger "
		"free getconf getent groups hash help history hostname htop id ifconfig info iostat ip jobs "
		"journalctl last lastlog ldconfig locale locate logname lsblk lscpu lsmod lsof man mount netstat "
		"nproc nslookup printenv ps pstree pwd ss stty times top tput tty type uname uptime users vmstat w "
		"whatis whereis which who whoami "},
	{PROGRAM_AWK, 1, {"Ffv", ",field-separator,file,assign,"}, " awk gawk mawk nawk "},
	{PROGRAM_CD, 0, NO_OPTIONS, " cd popd pushd "},
	{PROGRAM_COVERAGE, 0, NO_OPTIONS, " coverage "},
	{PROGRAM_ECHO, 0, NO_OPTIONS, " echo printf seq yes "},
	{PROGRAM_EDITOR, 0, NO_OPTIONS, " ed emacs ex nano nvim pico vi vim "},
	{PROGRAM_EDITOR, 0, {"lCtS", ",line-length,config,target-version,profile,settings-path,"},
		" black isort "},
	{PROGRAM_FILEOP, 0, NO_OPTIONS,
		" 7z bunzip2 bzip2 chattr compress cpio csplit dd dos2unix fallocate gunzip gzip losetup mkfifo mkfs "
		"mktemp rm rmdir shred sync trash trash-put uncompress unix2dos unlink unxz unzip xz zip "},
	{PROGRAM_FILEOP, 0, {"bCnla", ",bytes,lines,suffix-length,"}, " split "},
	{PROGRAM_FILEOP, 0, {"dtr", ",date,reference,time,"}, " touch "},
	{PROGRAM_FILEOP, 0, {"m", ",mode,"}, " mkdir "},
	{PROGRAM_FILEOP, 0, {"sr", ",size,reference,"}, " truncate "},
	{PROGRAM_FILEOP, 1, {"", ",reference,"}, " chgrp chmod chown setfacl "},
	{PROGRAM_FILEOP_LAST, 0, NO_OPTIONS, " rename "},
	{PROGRAM_FILEOP_LAST, 0, {"St", ",suffix,target-directory,"}, " cp ln mv "},
	{PROGRAM_FILEOP_LAST, 0, {"e", ",exclude,include,rsh,"}, " rsync "},
	{PROGRAM_FILEOP_LAST, 0, {"iPoFlcJ", ""}, " scp "},
	{PROGRAM_FILEOP_LAST, 0, {"mgoSt", ",suffix,target-directory,exclude,include,mode,owner,group,"},
		" install "},
	{PROGRAM_FETCH, 0, {"aeiBtTwQPlARDIXU", ",header,user,password,directory-prefix,timeout,tries,"},
		" wget "},
	{PROGRAM_FIND, 0, NO_OPTIONS, " find gfind "},
	{PROGRAM_GIT, 0, NO_OPTIONS, " git hub "},
	{PROGRAM_GREP, 1, {"efmABCdD",
		",regexp,file,include,exclude,exclude-dir,context,after-context,before-context,max-count,color,"},
		" bzgrep egrep fgrep grep pcre2grep pcregrep rgrep zgrep "},
	{PROGRAM_HEAD, 0, {"nc", ",lines,bytes,"}, " head "},
	{PROGRAM_INTERPRETER, 0, {"eEIrMCWcp", ",eval,require,"},
		" R Rscript bpython elixir erl escript expect gdb ghc groovy guile ipdb irb java julia lua luajit "
		"mongo node nodejs octave osascript pdb perl php powershell pwsh racket redis-cli ruby runghc "
		"runhaskell sbcl scala swift tclsh ts-node tsx "},
	{PROGRAM_LIST, 0, NO_OPTIONS, " comm zdiff "},
	{PROGRAM_LIST, 0, {"", LIST_NAMES},
		" b2sum cksum dirname getfacl lsattr md5sum namei readlink realpath sha1sum sha224sum sha256sum "
		"sha384sum sha512sum sum test-path wc "},
	{PROGRAM_LIST, 0, {"F", LIST_NAMES}, " file "},
	{PROGRAM_LIST, 0, {"UICFxX", ",unified,exclude,label,ignore-matching-lines,"},
		" cmp colordiff diff sdiff "},
	{PROGRAM_LIST, 0, FILTER_OPTIONS, " diff3 vimdiff "},
	{PROGRAM_LIST, 0, {"c", LIST_NAMES}, " stat "},
	{PROGRAM_LIST, 0, {"s", LIST_NAMES}, " basename "},
	{PROGRAM_LIST, 0, {"txB", LIST_NAMES}, " df "},
	{PROGRAM_LIST_HERE, 0, {"", LIST_NAMES}, " exa eza "},
	{PROGRAM_LIST_HERE, 0, {"I", LIST_NAMES}, " dir la ll ls vdir "},
	{PROGRAM_LIST_HERE, 0, {"LIP", LIST_NAMES}, " tree "},
	{PROGRAM_LIST_HERE, 0, {"dtXB", LIST_NAMES}, " du "},
	{PROGRAM_MAKE, 0, {"CfjIol", ",directory,file,jobs,"},
		" bmake gmake inv invoke just make ninja nmake rake task "},
	{PROGRAM_NOTHING, 0, NO_OPTIONS,
		" (( : [ [[ alias bg break clear continue deactivate declare disown exit export false fg getopts let "
		"local logout mapfile nvm read readarray readonly reset return set setopt shift shopt sleep test "
		"trap true typeset ulimit umask unalias unset wait "},
	{PROGRAM_PACKAGE, 0, NO_OPTIONS, " django ensurepip nginx systemctl venv "},
	{PROGRAM_PACKAGE, 0, {"", ",prefix,index-url,extra-index-url,target,name,channel,registry,"},
		" apk asdf brew bun bundle cabal cargo composer cpan cpanm deno django-admin dnf dotnet dpkg "
		"easy_install emerge gem go gradle gradlew hatch luarocks microdnf mix mvn mvnw npm npx nuget opam "
		"pacman pdm pip pip3 pipx pnpm poetry port pre-commit rpm rustup rye sbt snap stack uv yarn yum "
		"zypper "},
	{PROGRAM_PACKAGE, 0, {"", ",python,"}, " pipenv "},
	{PROGRAM_PACKAGE, 0, {"fH", ",file,host,context,"}, " docker podman "},
	{PROGRAM_PACKAGE, 0, {"fp", ",file,"}, " docker-compose podman-compose "},
	{PROGRAM_PACKAGE, 0, {"n", ",namespace,context,kubeconfig,"}, " kubectl "},
	{PROGRAM_PACKAGE, 0, {"npc", ",name,prefix,channel,solver,"}, " conda mamba micromamba "},
	{PROGRAM_PACKAGE, 0, {"otca", ",option,target-release,config-file,host-architecture,"},
		" apt apt-get aptitude "},
	{PROGRAM_PACKAGE, 0, {"p", ""}, " virtualenv "},
	{PROGRAM_PATCH, 0, {"dpiorBDFVYz", ",input,directory,strip,output,"}, " patch "},
	{PROGRAM_PYTHON, 0, {"WX", ""}, " bin/python ipython jython pypy python sage "},
	{PROGRAM_RUN, 0, {"AbcCdDeEFHKmPQrtTuUwxXyYz", ",data,header,request,user,url,max-time,retry,"},
		" curl "},
	{PROGRAM_SEARCH, 1, NO_OPTIONS, " find_file search_dir search_file "},
	{PROGRAM_SEARCH, 1, {"eEtdxX", ""}, " fd fdfind "},
	{PROGRAM_SEARCH_HERE, 1, {"efmABCgtTjMGr",
		",regexp,file,glob,type,type-not,context,after-context,before-context,max-count,color,sort,ignore,"},
		" ack ack-grep ag rg "},
	{PROGRAM_SED, 1, {"efl", ",expression,file,line-length,"}, " gsed sed "},
	{PROGRAM_SHELL, 0, {"oO", ",rcfile,init-file,"}, " ash bash csh dash eval fish ksh sh su tcsh zsh "},
	{PROGRAM_SOURCE, 0, NO_OPTIONS, " . source "},
	{PROGRAM_SQL, 0, NO_OPTIONS, " mariadb mysql psql "},
	{PROGRAM_SQL, 1, NO_OPTIONS, " sqlite3 "},
	{PROGRAM_SUBMIT, 0, NO_OPTIONS, " exit_context exit_cost exit_forfeit exit_format submit submit_final "},
	{PROGRAM_SWE_CREATE, 0, NO_OPTIONS, " create "},
	{PROGRAM_SWE_EDIT, 0, NO_OPTIONS, " append edit insert "},
	{PROGRAM_SWE_EDITOR, 0, NO_OPTIONS, " file_editor str_replace_based_edit_tool str_replace_editor "},
	{PROGRAM_SWE_GOTO, 0, NO_OPTIONS, " goto "},
	{PROGRAM_SWE_OPEN, 0, NO_OPTIONS, " open "},
	{PROGRAM_SWE_SCROLL, 0, NO_OPTIONS, " scroll_down scroll_up set_cursors "},
	{PROGRAM_TAIL, 0, {"nc", ",lines,bytes,pid,"}, " tail "},
	{PROGRAM_TAR, 0, NO_OPTIONS, " bsdtar gtar tar "},
	{PROGRAM_TEE, 0, NO_OPTIONS, " sponge tee "},
	{PROGRAM_TEST, 0, {"k", ",seed,timeout,split,"}, " bin/doctest bin/test "},
	{PROGRAM_TEST, 0, {"kmnpcoWrt",
		",maxfail,tb,rootdir,cov,cov-report,durations,timeout,settings,parallel,verbosity,deselect,ignore,"
		"color,capture,"},
		" ava bats behave codecept ctest cucumber gotestsum green jest karma lit minitest mocha nose2 "
		"nosetests nosetests3 pest phpunit ptr py.test pytest pytest-3 robot rspec run-tests.sh run_tests.py "
		"run_tests.sh runtests.sh stestr tap tape test.sh testr trial vitest "},
	{PROGRAM_TEST, 0, {"kpt", ",start-directory,pattern,top-level-directory,"}, " unittest "},
	{PROGRAM_TEST, 0, {"o", ""}, " doctest "},
	{PROGRAM_TEST, 0, {"vk", ",settings,parallel,verbosity,tag,exclude-tag,start-at,start-after,"},
		" runtests runtests.py "},
	{PROGRAM_TEST, 0, {"w", ""}, " nose "},
	{PROGRAM_TEST, NO_FILES, {"ecrsnp", ""}, " nox tox "},
	{PROGRAM_VIEW, 0, NO_OPTIONS, " bc cat json.tool less more rev tac "},
	{PROGRAM_VIEW, 0, {"AjNStw", ""}, " od "},
	{PROGRAM_VIEW, 0, {"bcdf", ",delimiter,fields,bytes,characters,output-delimiter,"}, " cut "},
	{PROGRAM_VIEW, 0, FILTER_OPTIONS,
		" bzcat column csvlook expand fmt fold glow iconv join mdcat most paste pdftotext pr pygmentize shuf "
		"tsort unexpand view xmllint xzcat zcat zless zmore "},
	{PROGRAM_VIEW, 0, {"bdfhilnsvw", ""}, " nl "},
	{PROGRAM_VIEW, 0, {"cglso", ""}, " xxd "},
	{PROGRAM_VIEW, 0, {"e", ""}, " dc "},
	{PROGRAM_VIEW, 0, {"efns", ""}, " hd hexdump "},
	{PROGRAM_VIEW, 0, {"fsw", ""}, " uniq "},
	{PROGRAM_VIEW, 0, {"ktoST", ",key,field-separator,output,"}, " sort "},
	{PROGRAM_VIEW, 0, {"ntT", ""}, " strings "},
	{PROGRAM_VIEW, 0, {"rlHp", ",line-range,language,style,color,paging,highlight-line,"}, " bat batcat "},
	{PROGRAM_VIEW, 0, {"w", ""}, " base64 "},
	{PROGRAM_VIEW, 1, {"", ",arg,argjson,indent,"}, " jq yq "},
	{PROGRAM_VIEW, NO_FILES, NO_OPTIONS, " tr "},
	{PROGRAM_WRAPPER, 0, {"cnp", ""}, " ionice "},
	{PROGRAM_WRAPPER, 0, {"ens", ",server-args,server-num,"}, " xvfb-run "},
	{PROGRAM_WRAPPER, 0, {"eopsS", ""}, " ltrace strace "},
	{PROGRAM_WRAPPER, 0, {"fo", ""},
		" builtin busybox catchsegv command coproc exec nohup setsid time unbuffer winpty "},
	{PROGRAM_WRAPPER, 0, {"ioe", ",input,output,error,"}, " stdbuf "},
	{PROGRAM_WRAPPER, 0, {"n", ",adjustment,"}, " nice "},
	{PROGRAM_WRAPPER, 0, {"n", ",interval,"}, " watch "},
	{PROGRAM_WRAPPER, 0, {"uCS", ",unset,chdir,"}, " env "},
	{PROGRAM_WRAPPER, 0, {"ugpCDhrtTU", ",user,group,"}, " doas sudo "},
	{PROGRAM_WRAPPER, 1, NO_OPTIONS, " chroot chrt flock taskset "},
	{PROGRAM_WRAPPER, 1, {"ks", ",kill-after,signal,"}, " gtimeout timeout "},
	{PROGRAM_XARGS, 0, {"IJnLPRSdsEaj", ",replace,max-args,max-procs,delimiter,arg-file,max-lines,"},
		" gxargs parallel xargs "},
};

/* All programs, sorted by name, and the characters of their names.  Built on first use. */
#define MOST_PROGRAMS 600
#define MOST_CHARACTERS 6000

static Program programs[MOST_PROGRAMS];
static char names[MOST_CHARACTERS];
static int	n_programs = 0;

static int
compare_programs(const void *a, const void *b)
{
	return strcmp(((const Program *) a)->name, ((const Program *) b)->name);
}

static void
list_programs(void)
{
	char	   *end = names;

	for (int g = 0; g < (int) lengthof(groups); g++)
	{
		const char *name = groups[g].names + 1;

		while (*name != '\0')
		{
			int			length = (int) (strchr(name, ' ') - name);

			Assert(n_programs < MOST_PROGRAMS && end + length < names + MOST_CHARACTERS);
			programs[n_programs++] = (Program) {end, groups[g].kind, groups[g].operands, groups[g].options};
			memcpy(end, name, length);
			end += length + 1;
			name += length + 1;
		}
	}
	qsort(programs, n_programs, sizeof(Program), compare_programs);
}

const Program *
find_program(const char *name)
{
	Program		wanted = {.name = name};

	if (n_programs == 0)
		list_programs();
	return bsearch(&wanted, programs, n_programs, sizeof(Program), compare_programs);
}

/* Is the word one of a list like " a b c "?  The separator also begins and ends it. */
bool
is_listed(const char *list, char separator, const char *word)
{
	size_t		length = strlen(word);
	const char *at = list;

	if (length == 0)
		return false;
	while ((at = strstr(at, word)) != NULL)
	{
		if (at > list && at[-1] == separator && at[length] == separator)
			return true;
		at++;
	}
	return false;
}

/* Verbs of programs that do the same to their file. */
static const struct
{
	const char *programs;
	const char *verb;
}			verbs[] = {
	{" curl wget ", "fetch"},
	{" install rsync scp ", "cp"},
	{" rename ", "mv"},
	{" rmdir trash trash-put unlink ", "rm"},
};

/* What a program does to its file: its name, or a verb that it shares with others. */
Span
program_verb(const Program *program)
{
	for (int i = 0; i < (int) lengthof(verbs); i++)
		if (is_listed(verbs[i].programs, ' ', program->name))
			return span_of(verbs[i].verb);
	return span_of(program->name);
}

/* Also finds a name with a version at its end: python3.11, pip3. */
const Program *
find_any_version(const char *name)
{
	const Program *program = find_program(name);
	char		bare[32];
	size_t		length = strlen(name);

	if (program != NULL || length >= sizeof(bare))
		return program;
	while (length > 0 && ((name[length - 1] >= '0' && name[length - 1] <= '9') ||
						  name[length - 1] == '.' || name[length - 1] == '-'))
		length--;
	if (length == 0 || name[length] == '\0')
		return NULL;
	memcpy(bare, name, length);
	bare[length] = '\0';
	return find_program(bare);
}

/* "/usr/bin/x" → "x"; "bin/test" keeps its directory; "test", like /usr/bin/test, is a builtin. */
const char *
program_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (slash != NULL && slash - path >= 3 && strncmp(slash - 3, "bin", 3) == 0 &&
		(slash - path == 3 || slash[-4] == '/') && strncmp(path, "/bin/", 5) != 0 && strncmp(path, "/usr/", 5) != 0 &&
		(strcmp(name, "test") == 0 || strcmp(name, "doctest") == 0))
		return slash - 3;
	return name;
}
