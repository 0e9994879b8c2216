-- call_effects: all effects of a call. Expected lists were written by hand (docs/states.md); only rows that differ are shown.
SET search_path = stepadv, public;

CREATE FUNCTION effects(command text, ok boolean DEFAULT NULL) RETURNS text LANGUAGE sql IMMUTABLE
AS $$ SELECT string_agg(e.signature, ' ; ' ORDER BY e.effect_no)
      FROM stepadv.call_effects('bash', jsonb_build_object('command', command), ok, content_hash => 'none') e $$;

CREATE TEMP TABLE judged (ok boolean, command text, effects text);
INSERT INTO judged VALUES
	(false, 'sed -i s/a/b/ m.py && pytest t.py', 'modify:replace@m.py ; test@t.py:error'),
	(true, 'ls && pytest t.py', 'search ; test@t.py:ok'),
	(NULL, 'grep -q x m.py && sed -i s/x/y/ m.py', 'search@m.py ; modify:replace@m.py'),
	(NULL, E'mkdir -p d && cat > d/a.py <<''E''\nx = 1\nE', 'fileop:mkdir@d ; create@d/a.py'),
	(NULL, 'apt update && apt install -y python3-notebook', 'install ; install@python3-notebook'),
	(NULL, 'apt-cache search llvm && nginx -v', 'search ; search'),
	(NULL, 'nginx -T 2>/dev/null | grep server_name', 'search'),
	(NULL, 'nginx', 'execute@nginx'),
	(NULL, 'python -m mteb --help; gcc --version; pytest --version', 'search ; search ; search'),
	(NULL, 'diff -q d1/ d2/ | head -5', 'search@d1 ; search@d2'),
	(NULL, 'diff a b', 'search@a ; search@b'),
	(NULL, 'git diff > patch.txt', 'search ; modify:replace@patch.txt'),
	(NULL, 'python -m json.tool f | head -5', 'view:partial[0]@f'),
	(NULL, 'perl -ne ''print if 201..260'' f.py | grep def', 'search@f.py'),
	(NULL, 'perl -ne ''print if 201..260'' f.py', 'view:partial[2]@f.py'),
	(NULL, 'ls lib/**/*.py; tox -- t.py', 'search@lib/**/*.py ; test@t.py'),
	(NULL, 'make clean && make', 'execute:clean@make ; execute@make'),
	(NULL, 'systemctl start nginx && systemctl status nginx', 'execute:start@systemctl ; search'),
	(NULL, 'sqlite3 a.db "select * from t"; sqlite3 a.db ''drop table t''', 'search@a.db ; modify:replace@a.db'),
	(NULL, 'sed -i s/a/b/ m.py n.py', 'modify:replace@m.py ; modify:replace@n.py'),
	(true, 'cd src && ls && cat core.py', 'search@src ; view:full@src/core.py'),
	(true, 'cp conf.py conf.bak && sed -i ''s/1/2/'' conf.py && python conf.py',
		'fileop:cp@conf.bak ; modify:replace@conf.py ; execute@conf.py:ok'),
	(false, 'cp conf.py conf.bak && sed -i ''s/1/2/'' conf.py && python conf.py',
		'fileop:cp@conf.bak ; modify:replace@conf.py ; execute@conf.py:error'),
	(NULL, 'python conf.py && pytest tests/unit', 'execute@conf.py ; test@tests/unit'),
	(true, 'python conf.py && pytest tests/unit', 'execute@conf.py:ok ; test@tests/unit:ok'),
	(true, 'python conf.py; pytest tests/unit', 'execute@conf.py ; test@tests/unit:ok'),
	(false, 'python conf.py; pytest tests/unit', 'execute@conf.py ; test@tests/unit:error'),
	(true, 'pytest a.py; pytest b.py && pytest c.py', 'test@a.py ; test@b.py:ok ; test@c.py:ok'),
	(true, 'pytest a.py; echo done', 'test@a.py'),
	(false, 'pytest a.py; echo done', 'test@a.py:error'),
	(true, 'pytest a.py && echo passed', 'test@a.py:ok'),
	(true, 'pytest a.py || true', 'test@a.py'),
	(false, 'rm x.log; python gen.py', 'fileop:rm@x.log ; execute@gen.py:error'),
	(false, 'cat missing.txt; rm nothing', 'view:full@missing.txt ; fileop:rm@nothing:error'),
	(NULL, 'git add -A && git commit -m ''fix'' && git push origin main', 'fileop:add ; fileop:commit ; fileop:push'),
	(NULL, 'git checkout -b topic && git rebase main', 'fileop:checkout ; fileop:rebase'),
	(NULL, 'git stash && pytest tests/test_io.py && git stash pop',
		'fileop:stash ; test@tests/test_io.py ; fileop:pop'),
	(NULL, 'git status && git diff src/a.py src/b.py', 'search ; search@src/a.py ; search@src/b.py'),
	(NULL, 'git checkout -- a.py b.py && git clean -fd build',
		'fileop:checkout@a.py ; fileop:checkout@b.py ; fileop:clean@build'),
	(NULL, 'git log --oneline -5 && git show HEAD~1:src/a.py', 'search ; search@src/a.py'),
	(NULL, 'pip install -e . && pytest', 'install ; test@all'),
	(NULL, 'pip install numpy scipy && python -c ''import scipy''', 'install@numpy ; install@scipy ; execute@python'),
	(NULL, 'pip uninstall -y foo; pip install foo==1.2', 'install:remove@foo ; install@foo==1.2'),
	(NULL, 'npm ci && npm run build && npm test', 'install ; execute@build ; test@all'),
	(NULL, 'cargo build && cargo test parse && cargo run', 'execute:build@cargo ; test@parse ; execute@cargo'),
	(NULL, 'go build ./... && go test ./pkg/a ./pkg/b', 'execute:build@go ; test@pkg/a ; test@pkg/b'),
	(NULL, 'mkdir build && cd build && cmake .. && make -j4 && ctest',
		'fileop:mkdir@build ; execute@cmake ; execute@make ; test@all'),
	(NULL, 'make clean all test', 'execute:clean@make ; execute:all@make ; test@all'),
	(NULL, 'make -C docs html && ls docs/_build', 'execute:html@make ; search@docs/_build'),
	(NULL, 'touch a b c && chmod +x a b',
		'fileop:touch@a ; fileop:touch@b ; fileop:touch@c ; fileop:chmod@a ; fileop:chmod@b'),
	(NULL, 'rm -rf build dist && python setup.py sdist', 'fileop:rm@build ; fileop:rm@dist ; execute:sdist@setup.py'),
	(NULL, 'mv old.py new.py && grep -rn old src', 'fileop:mv@new.py ; search@src'),
	(NULL, 'cat a.py b.py', 'view:full@a.py ; view:full@b.py'),
	(NULL, 'head -n 20 a.py && tail -n 30 b.py', 'view:partial[0]@a.py ; view:partial[-0]@b.py'),
	(NULL, 'sed -n 100,120p a.py; sed -n 300,320p a.py', 'view:partial[1]@a.py ; view:partial[3]@a.py'),
	(NULL, 'sed -n ''300,320p;100,120p; 40p'' a.py && sed -n -e 250p -e ''330,$p'' b.py', 'view:partial[0-3]@a.py ; view:partial[2-]@b.py'),
	(NULL, 'grep -n foo a.py b.py; wc -l a.py b.py', 'search@a.py ; search@b.py ; search@a.py ; search@b.py'),
	(NULL, 'pytest tests/test_a.py tests/test_b.py -x', 'test@tests/test_a.py ; test@tests/test_b.py'),
	(NULL, 'pytest t.py::test_one t.py::test_two', 'test@t.py'),
	(NULL, 'python manage.py migrate && python manage.py test shop cart',
		'execute:migrate@manage.py ; test@shop ; test@cart'),
	(NULL, 'python manage.py makemigrations; python manage.py runserver &', 'execute:makemigrations@manage.py ; execute:runserver@manage.py'),
	(NULL, 'docker build -t x . && docker run x', 'execute:build@docker ; execute:run@docker'),
	(NULL, 'docker ps; docker logs web | tail -20', 'search ; search'),
	(NULL, 'apt-get install -y curl git && curl -O http://h/a.tgz && tar xzf a.tgz',
		'install@curl ; install@git ; fileop:fetch@a.tgz ; fileop:tar@a.tgz'),
	(NULL, 'wget -q http://h/x.zip && unzip x.zip -d out && ls out',
		'fileop:fetch@x.zip ; fileop:unzip@x.zip ; search@out'),
	(NULL, 'black src/a.py src/b.py && isort src/a.py',
		'modify:replace@src/a.py ; modify:replace@src/b.py ; modify:replace@src/a.py'),
	(NULL, 'black --check src; ruff check src', 'search@src ; execute@ruff'),
	(NULL, 'python -m py_compile a.py && python a.py', 'execute@py_compile ; execute@a.py'),
	(NULL, 'python a.py && python b.py && python c.py', 'execute@a.py ; execute@b.py ; execute@c.py'),
	(NULL, 'cd /testbed && export DEBUG=1 && source env.sh && python run.py', 'execute@run.py'),
	(NULL, 'set -e; cd app; npm install; npm start', 'install ; execute:start@npm'),
	(NULL, 'sleep 2; curl -s localhost:8000/health', 'execute@curl'),
	(NULL, 'ps aux | grep gunicorn; kill 4711', 'search ; execute@kill'),
	(NULL, 'pwd; ls -la; whoami', 'search ; search ; search'),
	(NULL, 'node -v && npm -v', 'search ; search'),
	(NULL, 'java -version; javac Main.java && java Main', 'search ; execute@javac ; execute@java'),
	(NULL, 'pytest t.py || python fix.py', 'test@t.py'),
	(true, 'pytest t.py || python fix.py', 'test@t.py ; execute@fix.py:ok'),
	(false, 'pytest t.py || python fix.py', 'test@t.py:error'),
	(NULL, 'grep -q foo a.py || echo foo >> a.py', 'search@a.py'),
	(true, 'grep -q foo a.py || echo foo >> a.py', 'search@a.py'),
	(NULL, '[ -d out ] || mkdir out', 'fileop:mkdir@out'),
	(NULL, 'test -f a.txt && cat a.txt || touch a.txt', 'view:full@a.txt'),
	(true, 'make || make -k && ls out', 'execute@make ; execute@make:ok ; search@out'),
	(NULL, 'make || make -k && ls out', 'execute@make ; search@out'),
	(NULL, 'cd lib || exit 1; cat x.c', 'view:full@lib/x.c'),
	(NULL, 'pytest a.py || { echo failed; rm -rf tmp; }', 'test@a.py'),
	(NULL, 'pytest a.py || (cd b && pytest b.py); ls', 'test@a.py ; search'),
	(NULL, 'which node || apt-get install -y nodejs', 'search'),
	(NULL, 'command -v jq >/dev/null 2>&1 || pip install jq', 'search'),
	(NULL, '! grep -q TODO a.py && git commit -am done', 'search@a.py ; fileop:commit'),
	(NULL, 'cat a.py | head -20', 'view:partial[0]@a.py'),
	(NULL, 'cat a.py | head -320 | tail -20', 'view:partial[3]@a.py'),
	(NULL, 'nl -ba a.py | sed -n ''210,230p''', 'view:partial[2]@a.py'),
	(NULL, 'cat a.py | grep -n foo | head', 'search@a.py'),
	(NULL, 'cat a.py b.py | grep foo', 'search@a.py ; search@b.py'),
	(NULL, 'grep -rn foo src | grep -v test | sort | uniq -c | sort -rn | head', 'search@src'),
	(NULL, 'find src -name ''*.py'' | xargs grep -l foo', 'search@src'),
	(NULL, 'find src tests -name ''*.pyc'' | xargs rm -f', 'fileop:rm@src ; fileop:rm@tests'),
	(NULL, 'find src -name ''*.py'' -exec sed -i ''s/a/b/'' {} +', 'modify:replace@src'),
	(NULL, E'find . -name ''*.orig'' -exec rm {} \\; && ls', 'fileop:rm ; search'),
	(NULL, 'find tests -name ''test_*.py'' | xargs pytest -q', 'test@tests'),
	(NULL, 'grep -rl old src | xargs sed -i ''s/old/new/g''', 'modify:replace@src'),
	(NULL, 'git ls-files | xargs wc -l | tail -1', 'search'),
	(NULL, 'echo a.py b.py | xargs cat', 'view:full@a.py ; view:full@b.py'),
	(NULL, 'echo x y | xargs -I{} touch {}.txt', 'fileop:touch@x.txt ; fileop:touch@y.txt'),
	(NULL, E'printf ''a\nb\n'' | xargs mkdir -p', 'fileop:mkdir@a ; fileop:mkdir@b'),
	(NULL, 'pytest tests/test_a.py 2>&1 | tail -20', 'test@tests/test_a.py'),
	(true, 'pytest tests/test_a.py 2>&1 | tail -20', 'test@tests/test_a.py:ok'),
	(false, 'python run.py | grep -i error', 'execute@run.py:error'),
	(NULL, 'pytest -q | tee log.txt | tail -3', 'test@all ; modify:replace@log.txt'),
	(false, 'pytest -q | tee log.txt', 'test@all:error ; modify:replace@log.txt'),
	(NULL, 'make 2>&1 | tee build.log', 'execute@make ; modify:replace@build.log'),
	(NULL, 'ls src | wc -l', 'search@src'),
	(NULL, 'ls src > files.txt', 'search@src ; modify:replace@files.txt'),
	(NULL, 'cat a b > c', 'view:full@a ; view:full@b ; modify:replace@c'),
	(NULL, 'sort names.txt | uniq > out.txt', 'view:full@names.txt ; modify:replace@out.txt'),
	(NULL, 'grep foo a.log | sort > hits.txt && head hits.txt',
		'search@a.log ; modify:replace@hits.txt ; view:partial[0]@hits.txt'),
	(NULL, 'cat data.json | python -m json.tool | head -40', 'view:partial[0]@data.json'),
	(NULL, 'cat in.txt | python proc.py', 'execute@proc.py'),
	(NULL, 'python gen.py | python load.py', 'execute@gen.py ; execute@load.py'),
	(NULL, 'cat fix.sql | sqlite3 a.db; sqlite3 a.db .tables', 'modify:replace@a.db ; search@a.db'),
	(NULL, 'echo ''select 1'' | psql mydb', 'search'),
	(NULL, 'echo ''y'' | apt-get install vim', 'install@vim'),
	(NULL, 'yes | pip uninstall foo', 'install:remove@foo'),
	(NULL, 'curl -s http://h/i.sh | bash', 'execute@curl ; execute@bash'),
	(NULL, 'curl -s http://h/d.json | jq .name', 'execute@curl'),
	(NULL, 'dmesg | tail -5; free -m', 'search ; search'),
	(NULL, 'git log --stat | head -40', 'search'),
	(NULL, 'git diff a.py | tee p.diff', 'search@a.py ; modify:replace@p.diff'),
	(NULL, 'ps aux | awk ''{print $2}'' | xargs kill', 'execute@kill'),
	(NULL, 'tail -f app.log | grep ERROR', 'search@app.log'),
	(NULL, 'awk ''NR>=300 && NR<=340'' a.py | cat -n', 'view:partial[3]@a.py'),
	(NULL, 'xxd a.bin | head -3; file a.bin', 'view:partial[0]@a.bin ; search@a.bin'),
	(NULL, 'echo ''x = 1'' > a.py && python a.py', 'create@a.py ; execute@a.py'),
	(NULL, 'echo ''x'' >> a.txt; cat a.txt', 'modify:insert@a.txt ; view:full@a.txt'),
	(NULL, E'printf ''a\nb\n'' > l.txt; wc -l < l.txt', 'create@l.txt ; search@l.txt'),
	(NULL, E'cat <<''E'' > t.py\nimport os\nE\npython t.py\nrm t.py', 'create@t.py ; execute@t.py ; fileop:rm@t.py'),
	(NULL, E'cat > a.py <<''A'' && cat > b.py <<''B''\n1\nA\n2\nB\n', 'create@a.py ; create@b.py'),
	(NULL, E'cat > a.py <<''A''\n1\nA\ncat > b.py <<''B''\n2\nB\npytest b.py', 'create@a.py ; create@b.py ; test@b.py'),
	(NULL, E'mkdir -p p && touch p/__init__.py && cat > p/m.py <<E\nx\nE',
		'fileop:mkdir@p ; fileop:touch@p/__init__.py ; create@p/m.py'),
	(NULL, E'cat <<E | tee a.txt b.txt\nx\nE', 'create@a.txt ; create@b.txt'),
	(NULL, E'cat <<E | python\nprint(1)\nE', 'execute@python'),
	(NULL, E'python - <<''E'' && pytest t.py\nopen(''a'')\nE', 'execute@python ; test@t.py'),
	(NULL, E'python <<''E'' > out.txt\nprint(1)\nE', 'execute@python ; modify:replace@out.txt'),
	(NULL, E'bash <<''E''\ncd src\nsed -i s/a/b/ m.py\npytest m.py\nE', 'modify:replace@src/m.py ; test@src/m.py'),
	(NULL, E'bash <<''E'' && ls\nrm a\nrm b\nE', 'fileop:rm@a ; fileop:rm@b ; search'),
	(true, E'bash <<''E''\npytest a\npytest b\nE', 'test@a ; test@b:ok'),
	(false, E'bash <<''E''\npytest a\npytest b\nE', 'test@a ; test@b:error'),
	(NULL, E'git apply <<''E'' && pytest t.py\n--- a/x.c\n+++ b/x.c\n@@\n-1\n+2\n--- a/y.c\n+++ b/y.c\n@@\n-1\n+2\nE',
		'modify:replace@x.c ; modify:replace@y.c ; test@t.py'),
	(NULL, E'git apply <<''E''\ndiff --git a/n.c b/n.c\n--- /dev/null\n+++ b/n.c\n'
		'@@\n+2\ndiff --git a/o.c b/o.c\n--- a/o.c\n+++ /dev/null\n@@\n-2\nE',
		'create@n.c ; fileop:rm@o.c'),
	(NULL, E'apply_patch <<''E''\n*** Begin Patch\n*** Update File: a.py\n@@\n'
		'-x\n+y\n*** Add File: b.py\n+z\n*** Delete File: c.py\n*** End Patch\nE',
		'modify:replace@a.py ; create@b.py ; fileop:rm@c.py'),
	(NULL, E'cd pkg && patch -p1 <<''E''\n--- a/x.c\n+++ b/x.c\n@@\n-1\n+2\nE', 'modify:replace@pkg/x.c'),
	(NULL, 'git diff HEAD > p.diff && git checkout . && git apply p.diff',
		'search ; modify:replace@p.diff ; fileop:checkout ; modify:replace'),
	(NULL, 'python gen.py > data.csv && head data.csv',
		'execute@gen.py ; modify:replace@data.csv ; view:partial[0]@data.csv'),
	(false, 'python gen.py > data.csv', 'execute@gen.py:error ; modify:replace@data.csv'),
	(false, 'echo x > /proc/no', 'create@/proc/no:error'),
	(NULL, 'pytest > log.txt 2>&1; tail log.txt', 'test@all ; modify:replace@log.txt ; view:partial[-0]@log.txt'),
	(NULL, 'nohup python serve.py > s.log 2>&1 & sleep 1; cat s.log',
		'execute@serve.py ; modify:replace@s.log ; view:full@s.log'),
	(NULL, ': > empty.txt; ls empty.txt', 'modify:replace@empty.txt ; search@empty.txt'),
	(NULL, 'sed ''s/a/b/'' x.txt > y.txt && mv y.txt x.txt',
		'view:full@x.txt ; modify:replace@y.txt ; fileop:mv@x.txt'),
	(NULL, 'for i in 1 2; do echo $i; done > n.txt', 'modify:replace@n.txt'),
	(NULL, '{ echo a; echo b; } > ab.txt && cat ab.txt', 'modify:replace@ab.txt ; view:full@ab.txt'),
	(NULL, 'perl -pi -e ''s/a/b/'' x.py y.py && git diff --stat', 'modify:replace@x.py ; modify:replace@y.py ; search'),
	(NULL, 'sed -i -e s/a/b/ -e s/c/d/ m.py && grep -c b m.py', 'modify:replace@m.py ; search@m.py'),
	(NULL, 'cat a.txt 2>/dev/null; ls /nope 2>/dev/null', 'view:full@a.txt ; search@/nope'),
	(NULL, 'for f in a.py b.py; do sed -i ''s/x/y/'' $f; done', 'modify:replace@a.py ; modify:replace@b.py'),
	(NULL, 'for f in a b; do cat src/$f.py; done', 'view:full@src/a.py ; view:full@src/b.py'),
	(NULL, 'for f in a b; do cat ${f}.txt | head -5; done', 'view:partial[0]@a.txt ; view:partial[0]@b.txt'),
	(NULL, 'for t in test_a test_b; do pytest tests/$t.py; done; ls',
		'test@tests/test_a.py ; test@tests/test_b.py ; search'),
	(true, 'for t in a b; do pytest $t; done', 'test@a ; test@b:ok'),
	(false, 'for t in a b; do pytest $t; done', 'test@a ; test@b:error'),
	(NULL, 'for d in x y; do mkdir $d; touch $d/f; done',
		'fileop:mkdir@x ; fileop:touch@x/f ; fileop:mkdir@y ; fileop:touch@y/f'),
	(NULL, 'for i in 1 2 3; do pytest t.py; done', 'test@t.py'),
	(NULL, 'for f in *.log; do rm "$f"; done', 'fileop:rm@*.log'),
	(NULL, 'for f in a b; do rm $f0; done', 'fileop:rm@$f0'),
	(NULL, 'for f in $(ls src); do wc -l $f; done', 'search@$f'),
	(NULL, 'for a in 1 2; do for b in x y; do touch $a/$b; done; done',
		'fileop:touch@1/x ; fileop:touch@1/y ; fileop:touch@2/x ; fileop:touch@2/y'),
	(NULL, 'for f in a b; do cat $f; done | grep x', 'search@a ; search@b'),
	(NULL, E'for f in a b\ndo\n  grep x $f\ndone', 'search@a ; search@b'),
	(NULL, 'while read f; do rm $f; done < list.txt', 'fileop:rm@$f'),
	(NULL, 'find . -name ''*.bak'' | while read f; do rm $f; done', 'search ; fileop:rm@$f'),
	(NULL, 'for f in a b; do while grep -q x $f; do sleep 1; done; rm $f; done', 'search@a ; fileop:rm@a ; search@b ; fileop:rm@b'),
	(NULL, 'until curl -s localhost; do sleep 1; done; pytest api.py', 'execute@curl ; test@api.py'),
	(NULL, 'if [ -f a.py ]; then cat a.py; else touch a.py; fi', 'view:full@a.py'),
	(NULL, 'if grep -q x a.py; then sed -i s/x/y/ a.py; fi && pytest', 'search@a.py ; modify:replace@a.py ; test@all'),
	(NULL, 'if [ -f x ]; then echo yes; else rm y; fi', 'fileop:rm@y'),
	(NULL, 'if pytest a; then git commit -m x; elif pytest b; then git stash; else git reset; fi; ls',
		'test@a ; fileop:commit ; search'),
	(NULL, 'if pytest a; then cat b; else ls | for f in x y; do rm $f; done; fi', 'test@a ; view:full@b'),
	(NULL, 'case $1 in a) rm a;; b) rm b;; *) ls;; esac; pwd', 'fileop:rm@a ; search'),
	(NULL, '(case $1 in a) rm a;; b) rm b;; esac; cd sub; ls); ls', 'fileop:rm@a ; search@sub ; search'),
	(NULL, 'sed -i --file=x.sed m.py; sed -i --file y.sed -e p n.py', 'modify:replace@m.py ; modify:replace@n.py'),
	(NULL, 'sed -i -fx.sed m.py; sed -i -e p -f y.sed n.py', 'modify:replace@m.py ; modify:replace@n.py'),
	(NULL, '(cd build && make) && pytest t.py', 'execute@make ; test@t.py'),
	(NULL, '(cd sub; ls); ls', 'search@sub ; search'),
	(true, '(pytest a; pytest b) && pytest c', 'test@a ; test@b:ok ; test@c:ok'),
	(NULL, 'pushd lib && make && popd && cat x.c', 'execute@make ; view:full@x.c'),
	(NULL, 'cd a && cat x; cd ../b && cat y; cd / && cat z', 'view:full@a/x ; view:full@b/y ; view:full@/z'),
	(NULL, 'x=$(cat v.txt); echo $x', 'view:full@v.txt'),
	(NULL, 'n=$(grep -c x a.py); rm a.py', 'fileop:rm@a.py'),
	(NULL, 'x=$(pytest -q | tail -1); echo "$x"; cat a', 'test@all ; view:full@a'),
	(NULL, 'echo "$(python gen.py)"', 'execute@gen.py'),
	(NULL, 'f() { pytest $1; }; ls', 'test@$1 ; search'),
	(NULL, 'bash -c "cd src && sed -i s/a/b/ m.py && pytest"', 'modify:replace@src/m.py ; test@all'),
	(NULL, 'bash -lc ''ls; cat a'' && rm a', 'search ; view:full@a ; fileop:rm@a'),
	(true, 'bash -c ''pytest a; pytest b'' && pytest c', 'test@a ; test@b:ok ; test@c:ok'),
	(true, 'bash -c ''pytest a && pytest b''; pytest c', 'test@a ; test@b ; test@c:ok'),
	(NULL, 'sudo apt-get update && sudo apt-get install -y gcc make', 'install ; install@gcc ; install@make'),
	(NULL, 'timeout 60 python a.py && time pytest t.py', 'execute@a.py ; test@t.py'),
	(NULL, 'env A=1 python a.py; A=2 B=3 python b.py', 'execute@a.py ; execute@b.py'),
	(NULL, 'nohup ./serve & ./client', 'execute@serve ; execute@client'),
	(NULL, 'poetry run pytest a.py && poetry run black src', 'test@a.py ; modify:replace@src'),
	(NULL, 'su - u -c ''rm a; rm b'' && ls', 'fileop:rm@a ; fileop:rm@b ; search'),
	(NULL, 'eval "rm a && rm b"', 'fileop:rm@a ; fileop:rm@b'),
	(NULL, 'xargs -a list.txt rm && ls', 'fileop:rm ; search'),
	(NULL, 'docker compose up -d && docker compose ps && docker compose down',
		'execute:up@docker ; search ; execute:down@docker'),
	(NULL, 'kubectl get pods | grep web && kubectl apply -f a.yml', 'search ; execute:apply@kubectl'),
	(NULL, 'git add -A && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT', 'fileop:add ; finish'),
	(NULL, 'echo start; echo end', 'execute@echo'),
	(NULL, 'cd src; export X=1', 'execute@cd'),
	(NULL, E'# only look\nls src # here\n\ncat src/a', 'search@src ; view:full@src/a'),
	(NULL, 'tox -e py39 -- tests/a.py tests/b.py && nox -s lint', 'test@tests/a.py ; test@tests/b.py ; test@all'),
	(NULL, 'python -m pytest a.py -q && python -m unittest b.py', 'test@a.py ; test@b.py'),
	(NULL, 'cd b && ./test; ls; build/test -a | tail -3; /bin/test -d x', 'execute@b/test ; search@b ; execute@b/build/test'),
	(NULL, 'xxd -l 64 a; od -N 8 b; hexdump -C c; tail -c +9 d | od -An -tx1', 'view@a ; view@b ; view:full@c ; view@d'),
	(NULL, 'git clone --depth 1 http://h/x.git out && git clone http://h/y.git', 'fileop:clone@out ; fileop:clone'),
	(NULL, 'psql -c ''drop table t'' db; psql -c ''select 1'' db', 'execute@psql ; search'),
	(NULL, 'comm -12 a.txt b.txt | wc -l; cmp a.bin b.bin',
		'search@a.txt ; search@b.txt ; search@a.bin ; search@b.bin');
SELECT count(*) >= 200 AS enough FROM judged;
SELECT ok, command, effects, effects(command, ok) AS got FROM judged WHERE effects(command, ok) IS DISTINCT FROM effects;

-- The signature of a call joins theirs; its category is that of the strongest effect.
SELECT command, action_signature('bash', to_jsonb(command), ok, content_hash => 'none') AS signature
FROM judged WHERE action_signature('bash', to_jsonb(command), ok, content_hash => 'none') IS DISTINCT FROM effects;
WITH strength(category, strength) AS (VALUES ('finish', 9), ('modify', 8), ('create', 8), ('test', 7), ('execute', 6), ('install', 5),
	('fileop', 4), ('view', 3), ('search', 2), ('think', 1), ('other', 0))
SELECT command, action_category('bash', to_jsonb(command)) AS category
FROM judged
WHERE action_category('bash', to_jsonb(command)) IS DISTINCT FROM (
	SELECT e.category FROM call_effects('bash', to_jsonb(command)) e JOIN strength s USING (category) ORDER BY s.strength DESC, e.effect_no LIMIT 1);

-- The columns agree with the signature.
SELECT j.command, e.*
FROM judged j, call_effects('bash', to_jsonb(j.command), j.ok, content_hash => 'none') e
WHERE e.category IS DISTINCT FROM substring(e.signature FROM '^[a-z]+')
	OR (e.signature ~ ':error$' AND e.succeeded IS DISTINCT FROM false) OR (e.signature ~ ':ok$' AND e.succeeded IS DISTINCT FROM true)
	OR (e.category <> 'test' AND e.target IS DISTINCT FROM substring(e.signature FROM '@([^:]*)') AND e.signature !~ '%');
SELECT * FROM call_effects('bash', '{"command": "cat a%b:c && cd src && pytest -q t.py | tail -3; ls"}', true);
SELECT * FROM call_effects('bash', '{"command": "rm a && cat b"}', false);
SELECT * FROM call_effects('Edit', '{"file_path": "/repo/src/a.py", "old_string": "return a", "new_string": "return b"}', root => '/repo');
SELECT * FROM call_effects('apply_patch', '{"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"}');
SELECT * FROM call_effects(NULL, NULL);
SELECT effect_no, signature FROM call_effects('mine', '{"line": "rm a; ls"}', vocabulary => '[{"tool": "mine", "meaning": "shell", "arguments": {"command": "line"}}]');

-- What is hashed of several files is each one's part of a patch, and of runs their code.
SELECT array_agg(e.signature ORDER BY e.effect_no) = ARRAY[
	'modify:replace:' || left(md5(E'*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n'), 4) || '@a.py',
	'modify:replace:' || left(md5(E'*** Update File: b.py\n@@\n-z\n+w\n*** End Patch'), 4) || '@b.py'] AS by_part
FROM call_effects('apply_patch', to_jsonb(E'*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Update File: b.py\n@@\n-z\n+w\n*** End Patch'::text)) e;
SELECT array_agg(e.signature ORDER BY e.effect_no) = ARRAY['execute:' || left(md5('print(1)'), 4) || '@python', 'execute:' || left(md5('print(2)'), 4) || '@python',
	'execute:' || left(md5(E'print(3)\n'), 4) || '@python', 'execute:' || left(md5('1'), 4) || '@node'] AS by_code
FROM call_effects('bash', to_jsonb(E'python -c "print(1)"; python3 -c "print(2)"; python <<E\nprint(3)\nE\nnode -e 1'::text)) e;
SELECT string_agg(DISTINCT substring(e.signature FROM ':(....)@'), ',') = left(md5('s/a/b/'), 4) AS one_hash
FROM call_effects('bash', '{"command": "sed -i s/a/b/ x y z"}') e;

-- The state has what every effect leaves behind, in one call or in several.
SELECT state_signature('search@a ; modify:replace:12ab@a ; test@t:error') AS in_one,
       (SELECT state_signature(s) FROM (VALUES ('search@a'), ('modify:replace:12ab@a'), ('test@t:error')) v(s)) AS in_three;
SELECT j.command
FROM judged j,
     LATERAL (SELECT state_hash(s) FROM (VALUES (action_signature('bash', to_jsonb(j.command), j.ok))) v(s)) of_call(hash),
     LATERAL (SELECT state_hash(e.signature) FROM call_effects('bash', to_jsonb(j.command), j.ok) e) of_effects(hash)
WHERE of_call.hash IS DISTINCT FROM of_effects.hash;
SELECT state_signature('modify:replace@a:error ; view:full@b') AS failed_edit_leaves_nothing;

-- A test after a change earns the bonus, also in the call that changed something.
SELECT step, action, validation_bonus(action, 0.5) OVER (ORDER BY step) AS bonus, validation_bonus(action, 0.5, true) OVER (ORDER BY step) AS with_runs
FROM (VALUES (1, 'test@a ; modify:replace@a:error'), (2, 'test@a ; modify:replace@a'), (3, 'execute@x ; search'), (4, 'view:full@b ; test@a:ok'),
             (5, 'search')) v(step, action);
SELECT validation_bonus('create@a ; test@a:ok', 1) OVER () AS in_one_call, validation_bonus('test@a ; create@a', 1) OVER () AS too_late;

-- No character in a name can make two effects of one.
SELECT string_agg(e.signature, ' | ') AS one FROM call_effects('Read', jsonb_build_object('path', 'a ; finish ; b')) e;
SELECT state_signature(action_signature('Read', jsonb_build_object('path', 'a ; finish ; b'))) AS one_file;

-- Hostile input: at most 256 effects, in a time that grows with the length.
SELECT name, count(e) AS effects, max(e.effect_no) AS last, bool_or(e.category = 'finish') AS finishes, length(string_agg(e.signature, ''))
	< 1000000 AS bounded
FROM (VALUES
	('a megabyte of commands', repeat('rm x;', 200000)), ('and the end', repeat('rm x;', 1000) || 'submit'),
	('a megabyte of targets', 'rm ' || repeat('a ', 500000)),
	('of alternatives', repeat('rm x||', 150000)), ('of pipes', repeat('cat a|', 150000)), ('of runs in a pipe', repeat('make|', 200000)),
	('of pipes of a text', 'echo ' || repeat('x', 500000) || repeat('|cat', 100000)),
	('of loops', repeat('for i in a b;do rm $i;done;', 40000)), ('of open loops', repeat('for i in a b;do ', 60000) || 'rm $i'),
	('of nested loops', repeat('for i in a b;do ', 50) || 'rm $i' || repeat(';done', 50)),
	('of a long loop', 'for i in ' || repeat('a ', 500000) || ';do rm $i;done'),
	('of long words in it', 'for i in ' || repeat('a', 300000) || ' b;do rm ' || repeat('$i', 200000) || ';done'),
	('of subshells', repeat('(', 500000) || 'rm x' || repeat(')', 500000)), ('of braces', repeat('{ rm x;', 140000)),
	('of ifs', repeat('if rm x;then ', 80000)), ('of cases', repeat('case a in b) rm x;;', 50000)),
	('of here-documents', repeat(E'cat > f <<E\nx\nE\n', 60000)), ('on one line', repeat('cat > f <<E;', 80000) || E'\nx\nE\n'),
	('of scripts', repeat(E'bash <<E\nrm x;rm y\nE\n', 40000)), ('of edits', 'sed -i ' || repeat('x', 900000) || repeat(' a', 200)),
	('of patches', E'git apply <<E\n' || repeat(E'--- a/x\n+++ b/x\n', 60000) || 'E'),
	('of directories', repeat('cd a&&rm x;', 90000)), ('of substitutions', repeat('x=$(rm a);', 100000))) v(name, command),
     LATERAL call_effects('bash', jsonb_build_object('command', command)) e
GROUP BY name ORDER BY name;
SELECT length(state_signature(repeat('search ; ', 200000))) AS a_long_signature;
DROP FUNCTION effects(text, boolean);
