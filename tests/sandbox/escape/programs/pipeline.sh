# Folders, pipes, functions and a script that is made and run.
set -e
mkdir -p a/b
for n in 3 1 2; do echo "$n"; done | sort > a/b/sorted
[ "$(head -n 1 a/b/sorted)" = 1 ]
find a -type f | xargs grep -c 2 > /dev/null
sed 's/1/one/' a/b/sorted | awk '{ total += length($0) } END { exit total != 5 }'
printf 'double() { echo $(($1 * 2)); }\ndouble 21\n' > made
[ "$(sh made)" = 42 ]
rm -r a
echo fine
