/*
 * programs.c
 *		The table of programs, and how a command's first word is looked up in it.
 *
 * A program that is not here is simply executed: `execute@program`.  What a
 * program's options look like matters only as far as an option may take the
 * next word as its value, which would otherwise be read as a file.
 */
#include "postgres.h"

#include "signatures/shell/programs.h"

/*
 * Options that take a value, where programs share them: by the program that
 * is known best for them, or by what such programs do.
 */
#define LIST_NAMES \
	",max-depth,exclude,format,ignore,sort,time-style,block-size,level,printf,"
#define NO_OPTIONS {"", ""}
#define APT_OPTIONS {"otca", ",option,target-release,config-file,host-architecture,"}
#define AWK_OPTIONS {"Ffv", ",field-separator,file,assign,"}
#define CONDA_OPTIONS {"npc", ",name,prefix,channel,solver,"}
#define COPY_OPTIONS {"St", ",suffix,target-directory,"}
#define DIFF_OPTIONS {"UICFxX", ",unified,exclude,label,ignore-matching-lines,"}
#define FILTER_OPTIONS \
	{"bclsdfktTSovjnNwAiUCx", ",width,tabs,delimiter,fields,bytes,key," \
	"line-range,language,style,color,output,"}
#define GREP_OPTIONS \
	{"efmABCdD", ",regexp,file,include,exclude,exclude-dir,context," \
	"after-context,before-context,max-count,color,"}
#define INTERPRETER_OPTIONS {"eEIrMCWcp", ",eval,require,"}
#define LS_OPTIONS {"I", LIST_NAMES}
#define MAKE_OPTIONS {"CfjIol", ",directory,file,jobs,"}
#define OWNER_OPTIONS {"", ",reference,"}
#define PACKAGE_OPTIONS {"", ",prefix,index-url,extra-index-url,target,name,channel,registry,"}
#define PYTHON_OPTIONS {"WX", ""}
#define RIPGREP_OPTIONS \
	{"efmABCgtTjMGr", ",regexp,file,glob,type,type-not,context,after-context," \
	"before-context,max-count,color,sort,ignore,"}
#define SHELL_OPTIONS {"oO", ",rcfile,init-file,"}
#define STAT_OPTIONS {"", LIST_NAMES}
#define TEST_OPTIONS \
	{"kmnpcoWrt", ",maxfail,tb,rootdir,cov,cov-report,durations,timeout,settings," \
	"parallel,verbosity,deselect,ignore,color,capture,"}
#define WRAPPER_OPTIONS {"fo", ""}
#define XARGS_OPTIONS {"IJnLPRSdsEaj", ",replace,max-args,max-procs,delimiter,arg-file,max-lines,"}

/* Sorted by name (bytewise): looked up by bisection; the test checks the order. */
static const Program programs[] = {
	{"((", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{".", PROGRAM_SOURCE, 0, NO_OPTIONS},
	{"7z", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{":", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"R", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"Rscript", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"[", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"[[", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"ack", PROGRAM_SEARCH_HERE, 1, RIPGREP_OPTIONS},
	{"ack-grep", PROGRAM_SEARCH_HERE, 1, RIPGREP_OPTIONS},
	{"ag", PROGRAM_SEARCH_HERE, 1, RIPGREP_OPTIONS},
	{"alias", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"apk", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"append", PROGRAM_SWE_EDIT, 0, NO_OPTIONS},
	{"apply_patch", PROGRAM_APPLY_PATCH, 0, NO_OPTIONS},
	{"applypatch", PROGRAM_APPLY_PATCH, 0, NO_OPTIONS},
	{"apropos", PROGRAM_ASK, 0, NO_OPTIONS},
	{"apt", PROGRAM_PACKAGE, 0, APT_OPTIONS},
	{"apt-cache", PROGRAM_ASK, 0, NO_OPTIONS},
	{"apt-file", PROGRAM_ASK, 0, NO_OPTIONS},
	{"apt-get", PROGRAM_PACKAGE, 0, APT_OPTIONS},
	{"aptitude", PROGRAM_PACKAGE, 0, APT_OPTIONS},
	{"arch", PROGRAM_ASK, 0, NO_OPTIONS},
	{"asdf", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"ash", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"ava", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"awk", PROGRAM_AWK, 1, AWK_OPTIONS},
	{"b2sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"base64", PROGRAM_VIEW, 0, {"w", ""}},
	{"basename", PROGRAM_LIST, 0, {"s", LIST_NAMES}},
	{"bash", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"bat", PROGRAM_VIEW, 0, {"rlHp", ",line-range,language,style,color,paging,highlight-line,"}},
	{"batcat", PROGRAM_VIEW, 0, {"rlHp", ",line-range,language,style,color,paging,highlight-line,"}},
	{"bats", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"bc", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"behave", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"bg", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"bin/doctest", PROGRAM_TEST, 0, {"k", ",seed,timeout,split,"}},
	{"bin/python", PROGRAM_PYTHON, 0, PYTHON_OPTIONS},
	{"bin/test", PROGRAM_TEST, 0, {"k", ",seed,timeout,split,"}},
	{"bind", PROGRAM_ASK, 0, NO_OPTIONS},
	{"black", PROGRAM_EDITOR, 0, {"lCtS", ",line-length,config,target-version,profile,settings-path,"}},
	{"bmake", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"bpython", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"break", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"brew", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"bsdtar", PROGRAM_TAR, 0, NO_OPTIONS},
	{"builtin", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"bun", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"bundle", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"bunzip2", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"busybox", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"bzcat", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"bzgrep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"bzip2", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"cabal", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"cal", PROGRAM_ASK, 0, NO_OPTIONS},
	{"cargo", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"cat", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"catchsegv", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"cd", PROGRAM_CD, 0, NO_OPTIONS},
	{"chattr", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"chgrp", PROGRAM_FILEOP, 1, OWNER_OPTIONS},
	{"chmod", PROGRAM_FILEOP, 1, OWNER_OPTIONS},
	{"chown", PROGRAM_FILEOP, 1, OWNER_OPTIONS},
	{"chroot", PROGRAM_WRAPPER, 1, NO_OPTIONS},
	{"chrt", PROGRAM_WRAPPER, 1, NO_OPTIONS},
	{"cksum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"clear", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"cmp", PROGRAM_LIST, 0, DIFF_OPTIONS},
	{"codecept", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"colordiff", PROGRAM_LIST, 0, DIFF_OPTIONS},
	{"column", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"comm", PROGRAM_LIST, 0, NO_OPTIONS},
	{"command", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"compgen", PROGRAM_ASK, 0, NO_OPTIONS},
	{"complete", PROGRAM_ASK, 0, NO_OPTIONS},
	{"composer", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"compress", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"conda", PROGRAM_PACKAGE, 0, CONDA_OPTIONS},
	{"continue", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"coproc", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"coverage", PROGRAM_COVERAGE, 0, NO_OPTIONS},
	{"cp", PROGRAM_FILEOP_LAST, 0, COPY_OPTIONS},
	{"cpan", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"cpanm", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"cpio", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"create", PROGRAM_SWE_CREATE, 0, NO_OPTIONS},
	{"csh", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"csplit", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"csvlook", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"ctest", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"cucumber", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"curl", PROGRAM_RUN, 0, {"AbcCdDeEFHKmPQrtTuUwxXyYz", ",data,header,request,user,url,max-time,retry,"}},
	{"cut", PROGRAM_VIEW, 0, {"bcdf", ",delimiter,fields,bytes,characters,output-delimiter,"}},
	{"dash", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"date", PROGRAM_ASK, 0, NO_OPTIONS},
	{"dc", PROGRAM_VIEW, 0, {"e", ""}},
	{"dd", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"deactivate", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"declare", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"deno", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"df", PROGRAM_LIST, 0, {"txB", LIST_NAMES}},
	{"diff", PROGRAM_LIST, 0, DIFF_OPTIONS},
	{"diff3", PROGRAM_LIST, 0, FILTER_OPTIONS},
	{"dig", PROGRAM_ASK, 0, NO_OPTIONS},
	{"dir", PROGRAM_LIST_HERE, 0, LS_OPTIONS},
	{"dirname", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"disown", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"django", PROGRAM_PACKAGE, 0, NO_OPTIONS},
	{"django-admin", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"dmesg", PROGRAM_ASK, 0, NO_OPTIONS},
	{"dnf", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"doas", PROGRAM_WRAPPER, 0, {"ugpCDhrtTU", ",user,group,"}},
	{"docker", PROGRAM_PACKAGE, 0, {"fH", ",file,host,context,"}},
	{"docker-compose", PROGRAM_PACKAGE, 0, {"fp", ",file,"}},
	{"doctest", PROGRAM_TEST, 0, {"o", ""}},
	{"dos2unix", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"dotnet", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"dpkg", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"dpkg-query", PROGRAM_ASK, 0, NO_OPTIONS},
	{"du", PROGRAM_LIST_HERE, 0, {"dtXB", LIST_NAMES}},
	{"easy_install", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"echo", PROGRAM_ECHO, 0, NO_OPTIONS},
	{"ed", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"edit", PROGRAM_SWE_EDIT, 0, NO_OPTIONS},
	{"egrep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"elixir", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"emacs", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"emerge", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"enable", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ensurepip", PROGRAM_PACKAGE, 0, NO_OPTIONS},
	{"env", PROGRAM_WRAPPER, 0, {"uCS", ",unset,chdir,"}},
	{"erl", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"escript", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"eval", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"ex", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"exa", PROGRAM_LIST_HERE, 0, STAT_OPTIONS},
	{"exec", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"exit", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"exit_context", PROGRAM_SUBMIT, 0, NO_OPTIONS},
	{"exit_cost", PROGRAM_SUBMIT, 0, NO_OPTIONS},
	{"exit_forfeit", PROGRAM_SUBMIT, 0, NO_OPTIONS},
	{"exit_format", PROGRAM_SUBMIT, 0, NO_OPTIONS},
	{"expand", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"expect", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"export", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"eza", PROGRAM_LIST_HERE, 0, STAT_OPTIONS},
	{"fallocate", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"false", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"fd", PROGRAM_SEARCH, 1, {"eEtdxX", ""}},
	{"fdfind", PROGRAM_SEARCH, 1, {"eEtdxX", ""}},
	{"fg", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"fgrep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"file", PROGRAM_LIST, 0, {"F", LIST_NAMES}},
	{"file_editor", PROGRAM_SWE_EDITOR, 0, NO_OPTIONS},
	{"find", PROGRAM_FIND, 0, NO_OPTIONS},
	{"find_file", PROGRAM_SEARCH, 1, NO_OPTIONS},
	{"finger", PROGRAM_ASK, 0, NO_OPTIONS},
	{"fish", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"flock", PROGRAM_WRAPPER, 1, NO_OPTIONS},
	{"fmt", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"fold", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"free", PROGRAM_ASK, 0, NO_OPTIONS},
	{"gawk", PROGRAM_AWK, 1, AWK_OPTIONS},
	{"gdb", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"gem", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"getconf", PROGRAM_ASK, 0, NO_OPTIONS},
	{"getent", PROGRAM_ASK, 0, NO_OPTIONS},
	{"getfacl", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"getopts", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"gfind", PROGRAM_FIND, 0, NO_OPTIONS},
	{"ghc", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"git", PROGRAM_GIT, 0, NO_OPTIONS},
	{"glow", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"gmake", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"go", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"gotestsum", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"goto", PROGRAM_SWE_GOTO, 0, NO_OPTIONS},
	{"gradle", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"gradlew", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"green", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"grep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"groovy", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"groups", PROGRAM_ASK, 0, NO_OPTIONS},
	{"gsed", PROGRAM_SED, 1, {"efl", ",expression,file,line-length,"}},
	{"gtar", PROGRAM_TAR, 0, NO_OPTIONS},
	{"gtimeout", PROGRAM_WRAPPER, 1, {"ks", ",kill-after,signal,"}},
	{"guile", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"gunzip", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"gxargs", PROGRAM_XARGS, 0, XARGS_OPTIONS},
	{"gzip", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"hash", PROGRAM_ASK, 0, NO_OPTIONS},
	{"hatch", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"hd", PROGRAM_VIEW, 0, {"efns", ""}},
	{"head", PROGRAM_HEAD, 0, {"nc", ",lines,bytes,"}},
	{"help", PROGRAM_ASK, 0, NO_OPTIONS},
	{"hexdump", PROGRAM_VIEW, 0, {"efns", ""}},
	{"history", PROGRAM_ASK, 0, NO_OPTIONS},
	{"hostname", PROGRAM_ASK, 0, NO_OPTIONS},
	{"htop", PROGRAM_ASK, 0, NO_OPTIONS},
	{"hub", PROGRAM_GIT, 0, NO_OPTIONS},
	{"iconv", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"id", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ifconfig", PROGRAM_ASK, 0, NO_OPTIONS},
	{"info", PROGRAM_ASK, 0, NO_OPTIONS},
	{"insert", PROGRAM_SWE_EDIT, 0, NO_OPTIONS},
	{"install", PROGRAM_FILEOP_LAST, 0, {"mgoSt", ",suffix,target-directory,exclude,include,mode,owner,group,"}},
	{"inv", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"invoke", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"ionice", PROGRAM_WRAPPER, 0, {"cnp", ""}},
	{"iostat", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ip", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ipdb", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"ipython", PROGRAM_PYTHON, 0, PYTHON_OPTIONS},
	{"irb", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"isort", PROGRAM_EDITOR, 0, {"lCtS", ",line-length,config,target-version,profile,settings-path,"}},
	{"java", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"jest", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"jobs", PROGRAM_ASK, 0, NO_OPTIONS},
	{"join", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"journalctl", PROGRAM_ASK, 0, NO_OPTIONS},
	{"jq", PROGRAM_VIEW, 1, {"", ",arg,argjson,indent,"}},
	{"json.tool", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"julia", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"just", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"jython", PROGRAM_PYTHON, 0, PYTHON_OPTIONS},
	{"karma", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"ksh", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"kubectl", PROGRAM_PACKAGE, 0, {"n", ",namespace,context,kubeconfig,"}},
	{"la", PROGRAM_LIST_HERE, 0, LS_OPTIONS},
	{"last", PROGRAM_ASK, 0, NO_OPTIONS},
	{"lastlog", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ldconfig", PROGRAM_ASK, 0, NO_OPTIONS},
	{"less", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"let", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"lit", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"ll", PROGRAM_LIST_HERE, 0, LS_OPTIONS},
	{"ln", PROGRAM_FILEOP_LAST, 0, COPY_OPTIONS},
	{"local", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"locale", PROGRAM_ASK, 0, NO_OPTIONS},
	{"locate", PROGRAM_ASK, 0, NO_OPTIONS},
	{"logname", PROGRAM_ASK, 0, NO_OPTIONS},
	{"logout", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"losetup", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"ls", PROGRAM_LIST_HERE, 0, LS_OPTIONS},
	{"lsattr", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"lsblk", PROGRAM_ASK, 0, NO_OPTIONS},
	{"lscpu", PROGRAM_ASK, 0, NO_OPTIONS},
	{"lsmod", PROGRAM_ASK, 0, NO_OPTIONS},
	{"lsof", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ltrace", PROGRAM_WRAPPER, 0, {"eopsS", ""}},
	{"lua", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"luajit", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"luarocks", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"make", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"mamba", PROGRAM_PACKAGE, 0, CONDA_OPTIONS},
	{"man", PROGRAM_ASK, 0, NO_OPTIONS},
	{"mapfile", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"mariadb", PROGRAM_SQL, 0, NO_OPTIONS},
	{"mawk", PROGRAM_AWK, 1, AWK_OPTIONS},
	{"md5sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"mdcat", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"microdnf", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"micromamba", PROGRAM_PACKAGE, 0, CONDA_OPTIONS},
	{"minitest", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"mix", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"mkdir", PROGRAM_FILEOP, 0, {"m", ",mode,"}},
	{"mkfifo", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"mkfs", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"mktemp", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"mocha", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"mongo", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"more", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"most", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"mount", PROGRAM_ASK, 0, NO_OPTIONS},
	{"mv", PROGRAM_FILEOP_LAST, 0, COPY_OPTIONS},
	{"mvn", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"mvnw", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"mysql", PROGRAM_SQL, 0, NO_OPTIONS},
	{"namei", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"nano", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"nawk", PROGRAM_AWK, 1, AWK_OPTIONS},
	{"netstat", PROGRAM_ASK, 0, NO_OPTIONS},
	{"nginx", PROGRAM_PACKAGE, 0, NO_OPTIONS},
	{"nice", PROGRAM_WRAPPER, 0, {"n", ",adjustment,"}},
	{"ninja", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"nl", PROGRAM_VIEW, 0, {"bdfhilnsvw", ""}},
	{"nmake", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"node", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"nodejs", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"nohup", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"nose", PROGRAM_TEST, 0, {"w", ""}},
	{"nose2", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"nosetests", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"nosetests3", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"nox", PROGRAM_TEST, NO_FILES, {"ecrsnp", ""}},
	{"npm", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"nproc", PROGRAM_ASK, 0, NO_OPTIONS},
	{"npx", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"nslookup", PROGRAM_ASK, 0, NO_OPTIONS},
	{"nuget", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"nvim", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"nvm", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"octave", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"od", PROGRAM_VIEW, 0, {"AjNStw", ""}},
	{"opam", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"open", PROGRAM_SWE_OPEN, 0, NO_OPTIONS},
	{"osascript", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"pacman", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"parallel", PROGRAM_XARGS, 0, XARGS_OPTIONS},
	{"paste", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"patch", PROGRAM_PATCH, 0, {"dpiorBDFVYz", ",input,directory,strip,output,"}},
	{"pcre2grep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"pcregrep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"pdb", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"pdftotext", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"pdm", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"perl", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"pest", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"php", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"phpunit", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"pico", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"pip", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"pip3", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"pipenv", PROGRAM_PACKAGE, 0, {"", ",python,"}},
	{"pipx", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"pnpm", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"podman", PROGRAM_PACKAGE, 0, {"fH", ",file,host,context,"}},
	{"podman-compose", PROGRAM_PACKAGE, 0, {"fp", ",file,"}},
	{"poetry", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"popd", PROGRAM_CD, 0, NO_OPTIONS},
	{"port", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"powershell", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"pr", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"pre-commit", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"printenv", PROGRAM_ASK, 0, NO_OPTIONS},
	{"printf", PROGRAM_ECHO, 0, NO_OPTIONS},
	{"ps", PROGRAM_ASK, 0, NO_OPTIONS},
	{"psql", PROGRAM_SQL, 0, NO_OPTIONS},
	{"pstree", PROGRAM_ASK, 0, NO_OPTIONS},
	{"ptr", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"pushd", PROGRAM_CD, 0, NO_OPTIONS},
	{"pwd", PROGRAM_ASK, 0, NO_OPTIONS},
	{"pwsh", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"py.test", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"pygmentize", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"pypy", PROGRAM_PYTHON, 0, PYTHON_OPTIONS},
	{"pytest", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"pytest-3", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"python", PROGRAM_PYTHON, 0, PYTHON_OPTIONS},
	{"racket", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"rake", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"read", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"readarray", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"readlink", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"readonly", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"realpath", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"redis-cli", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"rename", PROGRAM_FILEOP_LAST, 0, NO_OPTIONS},
	{"reset", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"return", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"rev", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"rg", PROGRAM_SEARCH_HERE, 1, RIPGREP_OPTIONS},
	{"rgrep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"rm", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"rmdir", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"robot", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"rpm", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"rspec", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"rsync", PROGRAM_FILEOP_LAST, 0, {"e", ",exclude,include,rsh,"}},
	{"ruby", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"run-tests.sh", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"run_tests.py", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"run_tests.sh", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"runghc", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"runhaskell", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"runtests", PROGRAM_TEST, 0, {"vk", ",settings,parallel,verbosity,tag,exclude-tag,start-at,start-after,"}},
	{"runtests.py", PROGRAM_TEST, 0, {"vk", ",settings,parallel,verbosity,tag,exclude-tag,start-at,start-after,"}},
	{"runtests.sh", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"rustup", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"rye", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"sage", PROGRAM_PYTHON, 0, PYTHON_OPTIONS},
	{"sbcl", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"sbt", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"scala", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"scp", PROGRAM_FILEOP_LAST, 0, {"iPoFlcJ", ""}},
	{"scroll_down", PROGRAM_SWE_SCROLL, 0, NO_OPTIONS},
	{"scroll_up", PROGRAM_SWE_SCROLL, 0, NO_OPTIONS},
	{"sdiff", PROGRAM_LIST, 0, DIFF_OPTIONS},
	{"search_dir", PROGRAM_SEARCH, 1, NO_OPTIONS},
	{"search_file", PROGRAM_SEARCH, 1, NO_OPTIONS},
	{"sed", PROGRAM_SED, 1, {"efl", ",expression,file,line-length,"}},
	{"seq", PROGRAM_ECHO, 0, NO_OPTIONS},
	{"set", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"set_cursors", PROGRAM_SWE_SCROLL, 0, NO_OPTIONS},
	{"setfacl", PROGRAM_FILEOP, 1, OWNER_OPTIONS},
	{"setopt", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"setsid", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"sh", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"sha1sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"sha224sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"sha256sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"sha384sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"sha512sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"shift", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"shopt", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"shred", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"shuf", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"sleep", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"snap", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"sort", PROGRAM_VIEW, 0, {"ktoST", ",key,field-separator,output,"}},
	{"source", PROGRAM_SOURCE, 0, NO_OPTIONS},
	{"split", PROGRAM_FILEOP, 0, {"bCnla", ",bytes,lines,suffix-length,"}},
	{"sponge", PROGRAM_TEE, 0, NO_OPTIONS},
	{"sqlite3", PROGRAM_SQL, 1, NO_OPTIONS},
	{"ss", PROGRAM_ASK, 0, NO_OPTIONS},
	{"stack", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"stat", PROGRAM_LIST, 0, {"c", LIST_NAMES}},
	{"stdbuf", PROGRAM_WRAPPER, 0, {"ioe", ",input,output,error,"}},
	{"stestr", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"str_replace_based_edit_tool", PROGRAM_SWE_EDITOR, 0, NO_OPTIONS},
	{"str_replace_editor", PROGRAM_SWE_EDITOR, 0, NO_OPTIONS},
	{"strace", PROGRAM_WRAPPER, 0, {"eopsS", ""}},
	{"strings", PROGRAM_VIEW, 0, {"ntT", ""}},
	{"stty", PROGRAM_ASK, 0, NO_OPTIONS},
	{"su", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"submit", PROGRAM_SUBMIT, 0, NO_OPTIONS},
	{"submit_final", PROGRAM_SUBMIT, 0, NO_OPTIONS},
	{"sudo", PROGRAM_WRAPPER, 0, {"ugpCDhrtTU", ",user,group,"}},
	{"sum", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"swift", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"sync", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"systemctl", PROGRAM_PACKAGE, 0, NO_OPTIONS},
	{"tac", PROGRAM_VIEW, 0, NO_OPTIONS},
	{"tail", PROGRAM_TAIL, 0, {"nc", ",lines,bytes,pid,"}},
	{"tap", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"tape", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"tar", PROGRAM_TAR, 0, NO_OPTIONS},
	{"task", PROGRAM_MAKE, 0, MAKE_OPTIONS},
	{"taskset", PROGRAM_WRAPPER, 1, NO_OPTIONS},
	{"tclsh", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"tcsh", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"tee", PROGRAM_TEE, 0, NO_OPTIONS},
	{"test", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"test-path", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"test.sh", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"testr", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"time", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"timeout", PROGRAM_WRAPPER, 1, {"ks", ",kill-after,signal,"}},
	{"times", PROGRAM_ASK, 0, NO_OPTIONS},
	{"top", PROGRAM_ASK, 0, NO_OPTIONS},
	{"touch", PROGRAM_FILEOP, 0, {"dtr", ",date,reference,time,"}},
	{"tox", PROGRAM_TEST, NO_FILES, {"ecrsnp", ""}},
	{"tput", PROGRAM_ASK, 0, NO_OPTIONS},
	{"tr", PROGRAM_VIEW, NO_FILES, NO_OPTIONS},
	{"trap", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"trash", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"trash-put", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"tree", PROGRAM_LIST_HERE, 0, {"LIP", LIST_NAMES}},
	{"trial", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"true", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"truncate", PROGRAM_FILEOP, 0, {"sr", ",size,reference,"}},
	{"ts-node", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"tsort", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"tsx", PROGRAM_INTERPRETER, 0, INTERPRETER_OPTIONS},
	{"tty", PROGRAM_ASK, 0, NO_OPTIONS},
	{"type", PROGRAM_ASK, 0, NO_OPTIONS},
	{"typeset", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"ulimit", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"umask", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"unalias", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"uname", PROGRAM_ASK, 0, NO_OPTIONS},
	{"unbuffer", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"uncompress", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"unexpand", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"uniq", PROGRAM_VIEW, 0, {"fsw", ""}},
	{"unittest", PROGRAM_TEST, 0, {"kpt", ",start-directory,pattern,top-level-directory,"}},
	{"unix2dos", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"unlink", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"unset", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"unxz", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"unzip", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"uptime", PROGRAM_ASK, 0, NO_OPTIONS},
	{"users", PROGRAM_ASK, 0, NO_OPTIONS},
	{"uv", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"vdir", PROGRAM_LIST_HERE, 0, LS_OPTIONS},
	{"venv", PROGRAM_PACKAGE, 0, NO_OPTIONS},
	{"vi", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"view", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"vim", PROGRAM_EDITOR, 0, NO_OPTIONS},
	{"vimdiff", PROGRAM_LIST, 0, FILTER_OPTIONS},
	{"virtualenv", PROGRAM_PACKAGE, 0, {"p", ""}},
	{"vitest", PROGRAM_TEST, 0, TEST_OPTIONS},
	{"vmstat", PROGRAM_ASK, 0, NO_OPTIONS},
	{"w", PROGRAM_ASK, 0, NO_OPTIONS},
	{"wait", PROGRAM_NOTHING, 0, NO_OPTIONS},
	{"watch", PROGRAM_WRAPPER, 0, {"n", ",interval,"}},
	{"wc", PROGRAM_LIST, 0, STAT_OPTIONS},
	{"wget", PROGRAM_FETCH, 0, {"aeiBtTwQPlARDIXU", ",header,user,password,directory-prefix,timeout,tries,"}},
	{"whatis", PROGRAM_ASK, 0, NO_OPTIONS},
	{"whereis", PROGRAM_ASK, 0, NO_OPTIONS},
	{"which", PROGRAM_ASK, 0, NO_OPTIONS},
	{"who", PROGRAM_ASK, 0, NO_OPTIONS},
	{"whoami", PROGRAM_ASK, 0, NO_OPTIONS},
	{"winpty", PROGRAM_WRAPPER, 0, WRAPPER_OPTIONS},
	{"xargs", PROGRAM_XARGS, 0, XARGS_OPTIONS},
	{"xmllint", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"xvfb-run", PROGRAM_WRAPPER, 0, {"ens", ",server-args,server-num,"}},
	{"xxd", PROGRAM_VIEW, 0, {"cglso", ""}},
	{"xz", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"xzcat", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"yarn", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"yes", PROGRAM_ECHO, 0, NO_OPTIONS},
	{"yq", PROGRAM_VIEW, 1, {"", ",arg,argjson,indent,"}},
	{"yum", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
	{"zcat", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"zdiff", PROGRAM_LIST, 0, NO_OPTIONS},
	{"zgrep", PROGRAM_GREP, 1, GREP_OPTIONS},
	{"zip", PROGRAM_FILEOP, 0, NO_OPTIONS},
	{"zless", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"zmore", PROGRAM_VIEW, 0, FILTER_OPTIONS},
	{"zsh", PROGRAM_SHELL, 0, SHELL_OPTIONS},
	{"zypper", PROGRAM_PACKAGE, 0, PACKAGE_OPTIONS},
};

const Program *
find_program(const char *name)
{
	int			low = 0;
	int			high = (int) lengthof(programs) - 1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;
		int			order = strcmp(name, programs[middle].name);

		if (order == 0)
			return &programs[middle];
		if (order < 0)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return NULL;
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

/* Programs that do to a file what another does that is known better. */
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

/* What a program does to its file: its own name, if no other says the same. */
Span
program_verb(const Program *program)
{
	int			i;

	for (i = 0; i < (int) lengthof(verbs); i++)
		if (is_listed(verbs[i].programs, ' ', program->name))
			return span_of(verbs[i].verb);
	return span_of(program->name);
}

/* Without the version at its end: python3.11, pip3. */
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

/* "/usr/bin/x" → "x"; "bin/test" keeps its directory, "test" alone is a builtin. */
const char *
program_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (slash != NULL && slash - path >= 3 && strncmp(slash - 3, "bin", 3) == 0 &&
		(slash - path == 3 || slash[-4] == '/') &&
		(strcmp(name, "test") == 0 || strcmp(name, "doctest") == 0))
		return slash - 3;
	return name;
}
