-- action_signature and action_category. Expected signatures were written by hand from the grammar (docs/states.md); only rows that differ are shown.
SET search_path = stepadv, public;

CREATE FUNCTION sh(command text, ok boolean DEFAULT NULL) RETURNS text LANGUAGE sql IMMUTABLE
AS $$ SELECT stepadv.action_signature('bash', pg_catalog.jsonb_build_object('command', command), ok, content_hash => 'none') $$;

-- What the paper prints.
SELECT action_signature('file_editor', '{"command": "view", "path": "core.py"}', true) = 'view:full@core.py' AS view_full,
       action_signature('file_editor', '{"command": "view", "path": "core.py", "view_range": [100, 299]}', true) = 'view:partial[1-2]@core.py' AS view_partial,
       action_signature('execute_bash', '{"cmd": "pytest test_main.py"}', true) = 'test@test_main.py:ok' AS test_ok,
       action_signature('execute_bash', '{"cmd": "python -m unittest test_main.py"}', false) = 'test@test_main.py:error' AS test_error,
       action_signature('think', '{"thought": "hm"}', true) = 'think' AS think,
       action_signature('finish', '{"command": "submit", "result": ""}', true) = 'finish' AS finish,
       -- md5('return areturn b') begins with a80d
       action_signature('file_editor', '{"command": "str_replace", "path": "core.py", "old_str": "return a", "new_str": "return b"}', true)
         = 'modify:replace:a80d@core.py' AS replace;

-- Buckets of 100 lines: the paper's and the vectors of the port.
SELECT lines, action_signature('str_replace_editor', jsonb_build_object('command', 'view', 'path', 'f', 'view_range', lines::jsonb)) = 'view:partial' || bucket || '@f' AS ok
FROM (VALUES ('[100, 299]', '[1-2]'), ('[200, 299]', '[2]'), ('[1, 99]', '[0]'), ('[1, 100]', '[0-1]'), ('[250, 250]', '[2]'),
             ('[120, -1]', '[1-]'), ('[5]', '[0-]')) v(lines, bucket);

-- Tools of the scaffolds: arguments as an object, as JSON in a string, as XML.
SELECT tool, args, signature, action_signature(tool, args::jsonb, ok) AS got
FROM (VALUES
	('file_editor', '{"command": "create", "path": "/testbed/a.py", "file_text": "x"}', true, 'create@a.py'),
	('file_editor', '{"command": "insert", "path": "a.py", "insert_line": 3, "new_str": "x = 1\n"}', true, 'modify:insert:' || left(md5(E'x = 1\n'), 4) || '@a.py'),
	('search', '{"search_term": "foo", "path": "/testbed/src"}', true, 'search@src'),
	('execute_bash', '{"command": "python reproduce.py"}', false, 'execute@reproduce.py:error'),
	('str_replace_editor', '{"command": "str_replace", "path": "a.py", "old_str": "a", "new_str": "b"}', false, 'modify:replace:' || left(md5('ab'), 4) || '@a.py:error'),
	('str_replace_editor', '{"command": "undo_edit", "path": "a.py"}', true, 'fileop@a.py'),
	('str_replace_editor', '{"command": "frobnicate", "path": "a.py"}', true, 'other:str_replace_editor'),
	('str_replace_editor', '"{\"command\": \"view\", \"path\": \"/testbed/a.py\", \"view_range\": [1, 5]}"', true, 'view:partial[0]@a.py'),
	('str_replace_editor', '"<function=str_replace_editor><parameter=command>view</parameter><parameter=path>/testbed/a.py</parameter></function>"', true, 'view:full@a.py'),
	(NULL, '"<function=execute_bash>\n<parameter=command>\ncat a.py\n</parameter>\n</function>"', true, 'view:full@a.py'),
	(NULL, '"<invoke name=\"bash\"><parameter name=\"command\">ls src</parameter></invoke>"', true, 'search@src'),
	('bash', '"<command>rm a.py</command>"', true, 'fileop:rm@a.py'),
	('execute_ipython_cell', '{"code": "1 + 1"}', true, 'execute:' || left(md5('1 + 1'), 4) || '@python:ok'),
	('browser', '{"code": "goto(1)"}', true, 'other:browser'),
	('bash', '"```bash\nsed -n 1,5p a.py\n```"', true, 'view:partial[0]@a.py'),
	(NULL, '"I look.\n\n```bash\ngrep -rn foo src/\n```\n"', NULL, 'search@src'),
	('Bash', '{"command": "npm test", "description": "Run tests"}', true, 'test@all:ok'),
	('Read', '{"file_path": "/testbed/a.py"}', true, 'view:full@a.py'),
	('Read', '{"file_path": "/testbed/a.py", "offset": 250, "limit": 60}', true, 'view:partial[2-3]@a.py'),
	('Edit', '{"file_path": "a.py", "old_string": "return a", "new_string": "return b", "replace_all": false}', true, 'modify:replace:a80d@a.py'),
	('Write', '{"file_path": "a.py", "content": "x"}', true, 'create@a.py'),
	('Grep', '{"pattern": "x", "path": "src"}', true, 'search@src'),
	('Glob', '{"pattern": "**/*.py"}', true, 'search'),
	('Task', '{"prompt": "x"}', true, 'other:Task'),
	('TodoWrite', '{"todos": [{"content": "x"}]}', true, 'think'),
	('read', '{"filePath": "a.py"}', true, 'view:full@a.py'),
	('edit', '{"filePath": "a.py", "oldString": "return a", "newString": "return b"}', true, 'modify:replace:a80d@a.py'),
	('apply_patch', '{"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"}', true,
		'modify:replace:' || left(md5(E'*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch'), 4) || '@src/a.py'),
	('apply_patch', '{"input": "*** Begin Patch\n*** Add File: b.py\n+y\n*** End Patch"}', true, 'create@b.py'),
	('apply_patch', '{"input": "*** Begin Patch\n*** Delete File: b.py\n*** End Patch"}', true, 'fileop:rm@b.py'),
	('shell', '{"command": ["bash", "-lc", "cd /testbed && cat a.py | head -n 20"]}', true, 'view:partial[0]@a.py'),
	('open', '{"path": "a.py", "line_number": 1474}', true, 'view:partial[14-15]@a.py'),
	('open', '{"command": "open a.py 1474\n"}', true, 'view:partial[14-15]@a.py'),
	('open', '{"path": "a.py"}', true, 'view:partial[0-1]@a.py'),
	('goto', '{"line_number": 220}', true, 'view:partial[1-2]'),
	('scroll_down', '{}', true, 'view'),
	('set_cursors', '{"command": "set_cursors 10 20\n"}', true, 'view'),
	('set_cursors', '{"start_line": 10, "end_line": 20}', true, 'view'),
	('bash', '{"command": "set_cursors 10 20"}', true, 'view'),
	('edit', '{"command": "edit 6:7\nx = 1\nend_of_edit\n"}', true, 'modify:replace:' || left(md5(E'x = 1\n'), 4)),
	('edit', '{"search": "return a", "replace": "return b"}', true, 'modify:replace:a80d'),
	('find_file', '{"file_name": "a.py", "dir": "src"}', true, 'search@src'),
	('find_file', '{"command": "find_file a.py src"}', true, 'search@src'),
	('create', '{"filename": "b.py"}', true, 'create@b.py'),
	('curl', '{"command": "curl http://x"}', true, 'execute@curl:ok'),
	('submit', '{}', true, 'finish'),
	('read_file', '{"path": "a.py", "limit": 10}', true, 'view:partial[0]@a.py'),
	('terminal', '{"command": "ls"}', true, 'search')
) v(tool, args, ok, signature)
WHERE action_signature(tool, args::jsonb, ok) IS DISTINCT FROM signature;

-- Shell commands.
SELECT command, signature, sh(command) AS got
FROM (VALUES
	-- views and their ranges
	('cat a.py', 'view:full@a.py'),
	('cat -n ./src//a.py', 'view:full@src/a.py'),
	('head a.py', 'view:partial[0]@a.py'),
	('head -n 250 a.py', 'view:partial[0-2]@a.py'),
	('head -50 a.py', 'view:partial[0]@a.py'),
	('tail -n +300 a.py', 'view:partial[3-]@a.py'),
	('tail -n 20 a.py', 'view:partial[-0]@a.py'),
	('sed -n ''330,360p'' a.py', 'view:partial[3]@a.py'),
	('sed -n 330p a.py', 'view:partial[3]@a.py'),
	('sed -n "95,+10p" a.py', 'view:partial[0-1]@a.py'),
	('sed -n ''200,$p'' a.py', 'view:partial[2-]@a.py'),
	('sed ''100,120!d'' a.py', 'view:partial[1]@a.py'),
	('sed -n ''/def f/,/return/p'' a.py', 'view@a.py'),
	('sed s/a/b/ a.py', 'view:full@a.py'),
	('nl -ba a.py | sed -n ''330,360p''', 'view:partial[3]@a.py'),
	('cat a.py | head -n 420 | tail -n 15', 'view:partial[4]@a.py'),
	('sed -n 1,300p a.py | tail -n 5', 'view:partial[2-3]@a.py'),
	('sqlite3 a.db', 'execute@sqlite3'),
	('sqlite3 a.db < s.sql', 'modify:replace@a.db'),
	('awk ''NR>=120 && NR<=180'' a.py', 'view:partial[1]@a.py'),
	('awk ''NR>=5 && NR<=5'' a.py', 'view:partial[0]@a.py'),
	('awk ''NR>=1 && NR<=5'' a.py', 'view:partial[0]@a.py'),
	('less < a.py', 'view:full@a.py'),
	-- searches
	('grep -rn "def f" src', 'search@src'),
	('grep -n -A 20 "def f" a.py', 'search@a.py'),
	('grep -e x -e y a.py', 'search@a.py'),
	('rg --type py foo src/', 'search@src'),
	('cat a.py | grep foo', 'search@a.py'),
	('cat names.txt | xargs du -b', 'search@names.txt'),
	('find . -name "*.py" | head', 'search'),
	('find src -name "*.py" -exec grep -l foo {} +', 'search@src'),
	('ls -la src', 'search@src'),
	('git log --oneline -5', 'search'),
	('git -C /testbed diff', 'search'),
	('git diff HEAD~1 src/a.py', 'search@src/a.py'),
	('git show v1.2', 'search'),
	('which python', 'search'),
	-- changes
	('sed -i ''s/a/b/'' a.py', 'modify:replace@a.py'),
	('sed -i.bak -e s/a/b/ -e s/c/d/ a.py', 'modify:replace@a.py'),
	('perl -pi -e ''s/a/b/'' a.py', 'modify:replace@a.py'),
	('echo x > a.py', 'create@a.py'),
	('echo x >> a.py', 'modify:insert@a.py'),
	('> a.py', 'modify:replace@a.py'),
	('str_replace_editor insert a.py --insert_line 3 --insert_text x', 'modify:insert@a.py'),
	('str_replace_editor str_replace a.py --old_str a --new_str b', 'modify:replace@a.py'),
	('git diff > p.txt', 'search ; modify:replace@p.txt'),
	('cat a | sort > b', 'view:full@a ; modify:replace@b'),
	('echo x | tee a.py', 'create@a.py'),
	('echo x | tee -a a.py', 'modify:insert@a.py'),
	(E'cat > a.py <<\'EOF\'\nit\'s "x" $(y\nEOF\n', 'create@a.py'),
	(E'cat <<EOF > a.py\nx\nEOF\npython a.py', 'create@a.py ; execute@a.py'),
	(E'cat >> a.py <<-EOF\n\tx\n\tEOF', 'modify:insert@a.py'),
	(E'tee a.py <<X\n1\nX', 'create@a.py'),
	(E'git apply <<\'E\'\n--- a/x.c\n+++ b/x.c\n@@\n-1\n+2\nE', 'modify:replace@x.c'),
	(E'patch -p1 <<\'E\'\n--- /dev/null\n+++ b/n.c\n@@\n+2\nE', 'create@n.c'),
	('patch -p1 < fix.patch', 'modify:replace'),
	(E'apply_patch <<\'E\'\n*** Begin Patch\n*** Update File: x.py\nE', 'modify:replace@x.py'),
	-- runs, tests
	('python reproduce.py', 'execute@reproduce.py'),
	('python3 -c "print(1)"', 'execute@python'),
	(E'python - <<EOF\nopen("x")\nEOF', 'execute@python'),
	('python -m build', 'execute@build'),
	('./run.sh a b', 'execute@run.sh'),
	('frobnicate --x', 'execute@frobnicate'),
	('echo x | ./rock', 'execute@rock'),
	('pytest > log.txt 2>&1', 'test@all ; modify:replace@log.txt'),
	('pytest tests/test_a.py::TestX::test_y -x', 'test@tests/test_a.py'),
	('python -W ignore -m pytest -k foo tests/test_a.py', 'test@tests/test_a.py'),
	('python3.11 -m unittest discover -s tests', 'test@tests'),
	('python manage.py test app', 'test@app'),
	('./tests/runtests.py --settings=x delete_regress', 'test@delete_regress'),
	('bin/test sympy/core/tests/test_x.py', 'test@sympy/core/tests/test_x.py'),
	('tox -e py39', 'test@all'),
	('go test ./...', 'test@all'),
	('go test ./pkg/x', 'test@pkg/x'),
	('cargo test parse', 'test@parse'),
	('make test', 'test@all'),
	('make -C build check-unit', 'test@check-unit'),
	('make', 'execute@make'),
	('make install', 'install'),
	('npm run test:unit', 'test@all'),
	('coverage run -m pytest tests', 'test@tests'),
	('poetry run pytest tests', 'test@tests'),
	-- install, files
	('pip install -e .', 'install'),
	('pip install numpy', 'install@numpy'),
	('cd dist && pip install x.whl', 'install@dist/x.whl'),
	('uv pip install numpy', 'install@numpy'),
	('apt-get update && apt-get install -y gcc', 'install ; install@gcc'),
	('pip list', 'search'),
	('rm -rf build', 'fileop:rm@build'),
	('cp a b', 'fileop:cp@b'),
	('mkdir -p x/y', 'fileop:mkdir@x/y'),
	('chmod +x run.sh', 'fileop:chmod@run.sh'),
	('git checkout -- a.py', 'fileop:checkout@a.py'),
	('find . -name "*.pyc" -delete', 'fileop:rm'),
	('find src -name "*.orig" | xargs rm', 'fileop:rm@src'),
	('ls src | xargs -i rm src/{}', 'fileop:rm@src/{}'),
	('ls src | xargs -I {} -n 1 rm {}', 'fileop:rm@src'),
	('xargs -a', 'execute@xargs'), ('cat f | xargs -a', 'view:full@f'),
	('find src -name "*.py" -exec sed -i s/a/b/ {} \;', 'modify:replace@src'),
	-- wrappers and what only prepares
	('cd /testbed && cat a.py', 'view:full@a.py'),
	('cd /testbed/src && cat ../a.py', 'view:full@a.py'),
	('cd src; cd x; cat a.py', 'view:full@src/x/a.py'),
	('export A=1; B=2 C=3 python x.py', 'execute@x.py'),
	('a=1 z=2 A=3 Z=4 _=5 aZ09z_=6 zA[3]+=7 python x.py', 'execute@x.py'),
	('9=1 python x.py', 'execute@9=1'),
	('sudo -u me timeout -k 5 60s env -u X Y=1 nice -n 5 python x.py', 'execute@x.py'),
	('bash -lc "cd /testbed && pytest tests/a.py"', 'test@tests/a.py'),
	('bash -c "bash -c ''cat a.py''"', 'view:full@a.py'),
	('eval "cat a.py"', 'view:full@a.py'),
	('x=$(cat a.py)', 'view:full@a.py'),
	('x=$(cat a.py); echo $x', 'view:full@a.py'),
	('export P=$P:$(pwd); python x.py', 'execute@x.py'),
	('echo `cat a.py`', 'view:full@a.py'),
	('if [ -f a.py ]; then cat a.py; fi', 'view:full@a.py'),
	('for f in a b; do rm $f; done', 'fileop:rm@a ; fileop:rm@b'),
	('case $x in a) rm a;; b) rm b;; esac', 'fileop:rm@a'),
	('f() { rm x; }', 'fileop:rm@x'),
	('(cd src && rm x)', 'fileop:rm@src/x'),
	('echo "== a"; cat a.py', 'view:full@a.py'),
	(E'# look\ncat a.py', 'view:full@a.py'),
	('cat a.py 2>/dev/null || true', 'view:full@a.py'),
	('true && "cat" a\ b.py', 'view:full@a b.py'),
	('cat $''a\tb''', 'view:full@a%09b'),
	('diff <(cat a) b', 'search@b'),
	('echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff', 'finish ; search'),
	('git add -A && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT', 'fileop:add ; finish'),
	('submit', 'finish'),
	('# only a remark', 'think'),
	('', 'think')
) v(command, signature)
WHERE sh(command) IS DISTINCT FROM signature;

-- Earlier signatures (the second column), and the current ones.
SELECT command, was, signature, sh(command) AS got
FROM (VALUES
	('cd /app && pip install foo', 'install@/app/foo', 'install@foo'),
	('cd /app && npm install @scope/x', 'install@/app/%40scope/x', 'install@%40scope/x'),
	('cd /app && pip install git+https://x.y/z.git', 'install@/app/git%2Bhttps%3A/x.y/z.git', 'install@git%2Bhttps%3A//x.y/z.git'),
	('cd /app && apt-get install -y libfoo', 'install@/app/libfoo', 'install@libfoo'),
	('conda env list', 'install@list', 'search'),
	('conda install -n env numpy', 'install@env', 'install@numpy'),
	('conda env create -f environment.yml', 'install@create', 'install@environment.yml'),
	('conda env remove -n x', 'install@remove', 'install:remove'),
	('conda create -n x python=3.9', 'install@x', 'install@python=3.9'),
	('conda remove -n x numpy', 'install@x', 'install:remove@numpy'),
	('apt-get -o A=b install gcc', 'execute@apt-get', 'install@gcc'),
	('apt-get install -o A=b -y gcc', 'install@A=b', 'install@gcc'),
	('sed -n ''/a/,/b/p'' f', 'view:full@f', 'view@f'),
	('sed -n ''/a/p'' f', 'view:full@f', 'search@f'),
	('sed -n ''10,/b/p'' f', 'view:full@f', 'view@f'),
	('sed -n ''$p'' f', 'view:full@f', 'view:partial[-0]@f'),
	('sed -n ''$='' f', 'view:full@f', 'search@f'),
	('sed 50q f', 'view:full@f', 'view:partial[0]@f'),
	('sed ''50q;d'' f', 'view:full@f', 'view:partial[0]@f'),
	('sed 1,100d f', 'view:full@f', 'view:partial[1-]@f'),
	('sed ''/x/q'' f', 'view:full@f', 'view@f'),
	('sed ''/x/!d'' f', 'view:full@f', 'search@f'),
	('sed -n ''s/x/y/p'' f', 'view:full@f', 'search@f'),
	('cat f | sed -n ''/a/,/b/p''', 'view:full@f', 'view@f'),
	('cat f | sed -n ''/a/p''', 'view:full@f', 'search@f'),
	('sed -n ''/a/,/b/p'' f | head -20', 'view:partial[0]@f', 'view@f'),
	('awk ''/x/'' f', 'view:full@f', 'search@f'),
	('awk ''/x/{print $1}'' f', 'view:full@f', 'search@f'),
	('awk ''/a/,/b/'' f', 'view:full@f', 'view@f'),
	('awk ''!/x/'' f', 'view:full@f', 'search@f'),
	('awk ''/a/{f=1} f{print} /b/{f=0}'' f', 'view:full@f', 'view@f'),
	('cat f | awk ''/x/''', 'view:full@f', 'search@f'),
	('tail -5 f', 'view:full@f', 'view:partial[-0]@f'),
	('tail -500 f', 'view:full@f', 'view:partial[-5]@f'),
	('tail -n 20 f', 'view:full@f', 'view:partial[-0]@f'),
	('tail f', 'view:full@f', 'view:partial[-0]@f'),
	('cat f | tail -5', 'view:full@f', 'view:partial[-0]@f'),
	('tail -n +1 f', 'view:partial[0-]@f', 'view:full@f'),
	('head f', 'view:full@f', 'view:partial[0]@f'),
	('head -c 100 f', 'view:full@f', 'view@f'),
	('tail -500 f | head -10', 'view:partial[0]@f', 'view:partial[-5]@f'),
	('nl f | tail -n +300 | tail -5', 'view:partial[3-]@f', 'view:partial[-0]@f'),
	('sed -n ''1,$p'' f', 'view:partial[0-]@f', 'view:full@f'),
	('xargs -a f cat', 'view:full', 'view:full@f'),
	('xargs -a f grep x', 'search', 'search@f'),
	('pytest --version', 'test@all', 'search'),
	('pytest --collect-only tests', 'test@tests', 'search@tests'),
	('pytest -q --co tests/a.py', 'test@tests/a.py', 'search@tests/a.py'),
	('python -m pytest --help', 'test@all', 'search'),
	('tox -l', 'test@all', 'search'),
	('jest --listTests', 'test@all', 'search'),
	('unzip -l a.zip', 'fileop@a.zip', 'search@a.zip'),
	('unzip -p a.zip x', 'fileop@a.zip', 'view:full@a.zip'),
	('unzip a.zip', 'fileop@a.zip', 'fileop:unzip@a.zip'),
	('unzip -o a.zip -d dir', 'fileop@a.zip', 'fileop:unzip@a.zip'),
	('gunzip -c a.gz', 'fileop@a.gz', 'view:full@a.gz'),
	('gunzip -c a.gz > a', 'fileop@a.gz', 'view:full@a.gz ; modify:replace@a'),
	('gzip a', 'fileop@a', 'fileop:gzip@a'),
	('sort -o f f', 'view:full@f', 'modify:replace@f'),
	('sort -of f', 'view:full@f', 'modify:replace@f'),
	('sort --output=f g', 'view:full@g', 'modify:replace@f'),
	('ls | xargs -J % cp % dest', 'execute@%25', 'fileop:cp@dest'),
	('xargs -J % mv % d', 'execute@%25', 'fileop:mv@d'),
	('git mv a b', 'fileop@a', 'fileop:mv@b'),
	('mv a b', 'fileop@b', 'fileop:mv@b'),
	('cp a b', 'fileop@b', 'fileop:cp@b'),
	('git rm a', 'fileop@a', 'fileop:rm@a'),
	('rm a', 'fileop@a', 'fileop:rm@a'),
	('rm -r a', 'fileop@a', 'fileop:rm@a'),
	('rmdir a', 'fileop@a', 'fileop:rm@a'),
	('mkdir a', 'fileop@a', 'fileop:mkdir@a'),
	('touch a', 'fileop@a', 'fileop:touch@a'),
	('git stash', 'fileop', 'fileop:stash'),
	('git stash pop', 'fileop', 'fileop:pop'),
	('git stash list', 'fileop', 'search'),
	('git stash push', 'fileop', 'fileop:stash'),
	('git add a', 'fileop@a', 'fileop:add@a'),
	('git commit -m x', 'fileop', 'fileop:commit'),
	('git checkout -- a.py', 'fileop@a.py', 'fileop:checkout@a.py'),
	('git reset --hard', 'fileop', 'fileop:reset'),
	('pip uninstall -y numpy', 'install@numpy', 'install:remove@numpy'),
	('npm uninstall x', 'install@x', 'install:remove@x'),
	('apt-get remove x', 'install@x', 'install:remove@x'),
	('docker ps', 'execute@docker', 'search'),
	('docker rm x', 'execute@docker', 'fileop:rm'),
	('docker compose ps', 'execute@docker', 'search'),
	('docker pull x', 'execute@docker', 'install@x'),
	('curl -O http://x/y.tgz', 'execute@curl', 'fileop:fetch@y.tgz'),
	('curl -sSLo f http://x/y', 'execute@curl', 'fileop:fetch@f'),
	('wget http://x/y.tgz?z=1', 'execute@wget', 'fileop:fetch@y.tgz'),
	('wget -O f http://x', 'execute@wget', 'fileop:fetch@f'),
	('wget http://host/', 'execute@wget', 'fileop:fetch'),
	('wget http://host', 'execute@wget', 'fileop:fetch'),
	('cd src && ls', 'search', 'search@src'),
	('cd src && find -name x', 'search', 'search@src'),
	('cd src && grep -rn x', 'search', 'search@src'),
	('cd src && rg x', 'search', 'search@src'),
	('cd src && ls -la | head', 'search', 'search@src'),
	('cd src && tree', 'search', 'search@src'),
	('echo x > f', 'modify:replace@f', 'create@f'),
	('echo x | tee f', 'modify:replace@f', 'create@f'),
	('cat <<< x > f', 'modify:replace@f', 'create@f'),
	('echo x | cat > f', 'modify:replace@f', 'create@f'),
	('find . -name x -delete', 'fileop', 'fileop:rm'),
	('tar xzf a.tgz', 'fileop@a.tgz', 'fileop:tar@a.tgz'),
	('scp a h:b', 'fileop@h%3Ab', 'fileop:cp@h%3Ab'),
	('uv pip uninstall x', 'install@x', 'install:remove@x'),
	('dpkg -i x.deb', 'install', 'install@x.deb'),
	('dpkg -r x', 'execute@dpkg', 'install:remove@x'),
	('rpm -e x', 'install@x', 'install:remove@x'),
	('cargo remove x', 'install@x', 'install:remove@x'),
	('poetry remove x', 'install@x', 'install:remove@x'),
	('git worktree list', 'fileop', 'search')
) v(command, was, signature)
WHERE sh(command) IS DISTINCT FROM signature OR was = signature;

-- Signatures that must differ: each pair once collided.
SELECT a, b, sh(a) AS both
FROM (VALUES ('pip install x', 'pip uninstall -y x'), ('apt-get install x', 'apt-get remove x'), ('git stash', 'git stash pop'), ('mv a b', 'cp a b'),
             ('mkdir x', 'rm -r x'), ('touch x', 'rm x'), ('docker ps', 'docker run x'), ('curl http://x/y', 'curl -O http://x/y'), ('tail -5 f', 'tail -500 f'),
             ('tail -5 f', 'cat f'), ('unzip a.zip', 'unzip -l a.zip'), ('git add x', 'git rm x'), ('sort f', 'sort -o f f'), ('head -c 9 f', 'cat f')) v(a, b)
WHERE sh(a) = sh(b);

-- Signatures that must be equal: each line means one thing.
SELECT commands, signatures
FROM (VALUES (ARRAY['cat f', 'sed -n ''1,$p'' f', 'tail -n +1 f', 'xargs -a f cat']), (ARRAY['head f', 'head -10 f', 'head -n 10 f', 'cat f | head', 'sed 10q f']),
             (ARRAY['tail f', 'tail -10 f', 'cat f | tail']), (ARRAY['cd src && ls', 'ls src', 'ls src/', 'cd /testbed/src; ls -la .']),
             (ARRAY['cd src && grep -rn x', 'grep -rn x src', 'rg x src', 'cd src && rg x', 'cd src && find -name x', 'find src -name x']),
             (ARRAY['echo x > f', E'cat > f <<E\nx\nE', 'echo x | tee f', 'printf ''x\n'' > f', 'cat <<< x > f', 'echo x | cat > f']),
             (ARRAY['git mv a b', 'mv a b']), (ARRAY['git rm a', 'rm a', 'rm -rf a', 'unlink a']),
             (ARRAY['grep x f', 'awk ''/x/'' f', 'sed -n ''/x/p'' f', 'cat f | awk ''/x/''']),
             (ARRAY['pip install x', 'cd /app && pip install x', 'conda install -n env x', 'apt-get -o A=b install x']),
             (ARRAY['curl -O http://x/f', 'curl -o f http://x/y', 'wget http://x/f?v=1', 'wget -O f http://x'])) v(commands),
     LATERAL (SELECT array_agg(DISTINCT sh(c)) AS signatures FROM unnest(commands) c) s
WHERE cardinality(signatures) <> 1;
SELECT action_signature('delete_file', '{"target_file": "a"}') = sh('rm a') AS delete_file, action_signature('Read', '{"file_path": "f", "offset": 1}') = sh('cat f') AS read_all;

-- What echo and a here-document append has one hash; edits between SWE-agent's cursors have their text's.
SELECT array_agg(DISTINCT action_signature('bash', jsonb_build_object('command', c))) = ARRAY['modify:insert:' || left(md5(E'x\n'), 4) || '@f'] AS appended
FROM unnest(ARRAY['echo x >> f', E'cat >> f <<E\nx\nE', 'printf ''x\n'' >> f', 'echo x | tee -a f', 'echo -e x >> f', E'echo -n ''x\n'' >> f']) c;
SELECT text, action_signature('edit', jsonb_build_object('command', E'edit\n' || text || E'end_of_edit\n')) = 'modify:replace:' || left(md5(text), 4) AS by_text
FROM unnest(ARRAY[E'x = 1\n', E'y = "\n']) text;
SELECT sh('edit') AS nothing, action_signature('edit', '{"command": "edit"}') AS no_text;

-- A failure after a verb; a tool without one.
SELECT sh('rm a', false) AS verb_failed, sh('pip uninstall x', false) AS removal_failed, sh('git stash', false) AS no_target,
       action_signature('str_replace_editor', '{"command": "undo_edit", "path": "a"}') AS no_verb;

-- Results: a failure belongs to the last command; a search cannot fail.
SELECT sh('cat a', false) = 'view:full@a:error' AS view_error, sh('grep x a', false) = 'search@a' AS search_error,
       sh('rm a; python b', false) = 'fileop:rm@a ; execute@b:error' AS not_its_own, sh('python a', false) = 'execute@a:error' AS execute_error,
       sh('python a', true) = 'execute@a:ok' AS execute_ok, sh('python a') = 'execute@a' AS unknown,
       sh('sed -i s/a/b/ a', false) = 'modify:replace@a:error' AS edit_error;

-- Content: what the hash covers.
SELECT action_signature('bash', '{"command": "sed -i s/a/b/ f"}') = 'modify:replace:' || left(md5('s/a/b/'), 4) || '@f' AS sed,
       action_signature('bash', '{"command": "echo x y >> f"}') = 'modify:insert:' || left(md5(E'x y\n'), 4) || '@f' AS echo,
       action_signature('bash', '{"command": "cat >> f <<E\nx\ny\nE\n"}') = 'modify:insert:' || left(md5(E'x\ny\n'), 4) || '@f' AS here_document,
       -- XXH3 of "return areturn b" (xxhsum -H3) begins with 0622
       action_signature('Edit', '{"file_path": "f", "old_string": "return a", "new_string": "return b"}', content_hash => 'xxh3') = 'modify:replace:0622@f' AS xxh3,
       action_signature('Edit', '{"file_path": "f", "old_string": "return a", "new_string": "return b"}', content_hash => 'none') = 'modify:replace@f' AS none;

-- Paths: separators are encoded, detours taken out, the root cut off.
SELECT path, signature, action_signature('Read', jsonb_build_object('file_path', path)) AS got
FROM (VALUES ('a|b+c:d@e%f', 'view:full@a%7Cb%2Bc%3Ad%40e%25f'), ('/testbed', 'view:full'), ('/testbed/', 'view:full'), ('/testbedx/a', 'view:full@/testbedx/a'),
             ('a/../b/./c', 'view:full@b/c'), ('../a', 'view:full@../a'), ('../../a/..', 'view:full@../..'), ('/../a', 'view:full@/a'), ('/', 'view:full@/'),
             ('', 'view:full'), ('~/x', 'view:full@~/x')) v(path, signature)
WHERE action_signature('Read', jsonb_build_object('file_path', path)) IS DISTINCT FROM signature;

SELECT action_signature('Read', '{"file_path": "/repo/src/a.py"}', root => '/repo/') AS own_root,
       action_signature('Read', '{"file_path": "/testbed/a.py"}', root => NULL) AS no_root,
       action_signature('Read', '{"file_path": "/testbed/src/a.py"}', path => 'basename') AS basename;

-- Bad input is classified as best it can be.
SELECT action_signature(NULL, NULL), action_signature('bash', NULL), action_signature(NULL, '{"a": 1}'), action_signature('  ', NULL),
       action_signature('Read', NULL), action_signature('Read', '{"file_path": 7}'), action_signature('Read', '{"file_path": null}'),
       action_signature('Read', '{"file_path": {"a": 1}}'), action_signature('Read', '[1, 2]'), action_signature('bash', '5'),
       action_signature('bash', 'true'), action_signature('Read', '{"file_path": "a", "offset": "x", "limit": -3}');
SELECT action_signature('a:b|c@d', '{"x": 1}') AS unknown_tool, action_category('frob', '{}') AS other,
       action_signature('Read', '"{\"file_path\": \"a"') AS broken_json;

-- Options.
SELECT action_signature('a', '{}', content_hash => 'sha1');
SELECT action_signature('a', '{}', path => 'absolute');

-- Hostile input: linear in time, never an error.
SELECT name, left(sh(command), 40) AS signature
FROM (VALUES
	('unterminated quotes', 'cat "a ''b $(c `d'),
	('10,000 nested substitutions', 'echo ' || repeat('$(', 10000) || 'rm x'),
	('10,000 closed ones', 'echo ' || repeat('$(', 10000) || 'rm x' || repeat(')', 10000)),
	('10,000 nested bash -c', repeat('bash -c "', 10000)),
	('a megabyte of a word', 'cat ' || repeat('a', 1000000)),
	('a megabyte of commands', repeat('true;', 200000) || 'rm x'),
	('a megabyte of operators', repeat('|&;<>()', 150000)),
	('a megabyte of quotes', repeat('''"', 500000)),
	('a megabyte of here-documents', repeat('a<<b;', 200000)),
	('a megabyte of arguments', 'rm ' || repeat('a ', 500000)),
	('deep directories', repeat('cd a && ', 100000) || 'rm x'),
	('many heredocs unread', repeat(E'cat <<E\n', 100000)),
	('controls', E'rm \x01\x1b\x7f')) v(name, command);
SELECT length(action_signature('Edit', jsonb_build_object('path', repeat('../', 100000) || 'a'))) AS long_path,
       left(action_signature('bash', to_jsonb(repeat('[', 100000))), 12) AS nested_json,
       left(action_signature('bash', to_jsonb('{"command": ' || repeat('[', 100000))), 12) AS nested_json_object,
       left(action_signature('bash', to_jsonb(repeat('<a>', 100000))), 12) AS nested_xml;
-- Escapes in arguments as text: pairs of surrogates are one character, others stay as written.
SELECT e.escape, action_signature('bash', to_jsonb('{"command": "cat a' || e.escape || 'b"}')) AS wrong
FROM (VALUES ('\udbff', 'udbff'), ('\udc00', 'udc00'), ('\udfff', 'udfff'), ('\ue000', chr(57344)), ('\ud7ff', chr(55295)),
	('\ud800\udc00', chr(65536)), ('\udbff\udfff', chr(1114111)), ('\ud800\ue000', 'ud800' || chr(57344))) e(escape, written)
WHERE action_signature('bash', to_jsonb('{"command": "cat a' || e.escape || 'b"}')) <> 'view:full@a' || e.written || 'b';
-- A name must be quoted; otherwise it is not JSON.
SELECT action_signature('str_replace_editor', to_jsonb('{"command": "view", xpath": "/b.py"}'::text));

-- The table of programs: each of them is recognized.
SELECT string_agg(p, ' ') AS not_found
FROM unnest('{7z,awk,base64,bash,cat,cp,env,fd,find,grep,head,less,ls,mv,nl,od,pytest,rm,rsync,sed,stat,tac,tail,tar,tee,touch,tox,vim,wc,which,xxd,zip,zsh}'::text[]) p
WHERE sh(p || ' x') = 'execute@' || p;

-- The vocabulary: the table shows what is compiled in, users' rows are added to it.
SELECT count(*) = (SELECT count(*) FROM builtin_vocabulary()) AS all_shown,
       count(DISTINCT (lower(tool), subcommand, meaning)) = count(DISTINCT (lower(tool), subcommand)) AS one_meaning_each
FROM tool_vocabulary WHERE builtin;
SELECT user_vocabulary();
INSERT INTO tool_vocabulary (scaffold, tool, subcommand, meaning, arguments) VALUES
	('mine', 'peek', '', 'view', '{"path": "uri", "first": "from", "last": "to"}'),
	('mine', 'do', 'change', 'replace', '{"subcommand": "what", "path": "uri", "old": "was", "new": "is"}'),
	('mine', 'search', '', 'other', '{}'),
	('theirs', 'run', '', 'shell', '{"command": "line"}');
SELECT action_signature('Peek', '{"uri": "a", "from": 120, "to": 130}', vocabulary => v) AS peek,
       action_signature('do', '{"what": "Change", "uri": "a", "was": "return a", "is": "return b"}', vocabulary => v) AS change,
       action_signature('do', '{"what": "else"}', vocabulary => v) AS unknown_subcommand,
       action_signature('search', '{}', vocabulary => v) AS overridden, action_signature('search', '{}') AS built_in,
       action_signature('run', '{"line": "ls"}', vocabulary => v) AS not_of_this_scaffold,
       action_category('run', '{"line": "ls"}', vocabulary => user_vocabulary()) AS of_all
FROM user_vocabulary('mine') v;
DELETE FROM tool_vocabulary WHERE NOT builtin;
INSERT INTO tool_vocabulary (tool, meaning) VALUES ('x', 'dance');
SELECT action_signature('a', '{}', vocabulary => '{}');
SELECT action_signature('a', '{}', vocabulary => '[1]');
SELECT action_signature('a', '{}', vocabulary => '[{"tool": "a"}]');
SELECT action_signature('a', '{}', vocabulary => '[{"meaning": "view"}]');
SELECT action_signature('a', '{}', vocabulary => '[{"tool": "a", "meaning": "dance"}]');
SELECT action_signature('a', '{}', vocabulary => '[{"tool": "a", "meaning": "view", "arguments": {"wer": "x"}}]');
SELECT action_signature('a', '{}', vocabulary => '[{"tool": "a", "meaning": "view", "paths": "x"}]');
SELECT action_signature('a', '{}', vocabulary => '[{"tool": ["a"], "meaning": "view"}]');
SELECT action_signature('a', '{"path": "x"}', vocabulary => '[{"tool": "A", "meaning": "view"}]') AS good_again;

-- Immutable: a generated column and an index.
CREATE TABLE calls (tool text, args jsonb, ok boolean,
	action text GENERATED ALWAYS AS (action_signature(tool, args, ok)) STORED);
CREATE INDEX ON calls (action_category(tool, args));
INSERT INTO calls VALUES ('bash', '{"command": "ls"}', true), (NULL, NULL, NULL);
SELECT action FROM calls ORDER BY action;
DROP TABLE calls;
DROP FUNCTION sh(text, boolean);
