for f in a b; do if grep -q x $f; then sed -i s/x/y/ $f ${f}.c; else cat $f | head -5; fi; done | tee log > out
(cd d && pushd e; { bash <<E; popd; } && echo a b | xargs -I{} rm d/{}) || pytest t.py::a t.py::b -- c
rm x; cat y
E
case $1 in a) git apply <<P;; b) x=$(make clean);; esac &
--- a/x
+++ b/x
P
find . -name '*.o' -exec rm {} + -exec ls {} \; ; perl -ne 'print if 1..2' f; sqlite3 db "select 1; drop table t"
