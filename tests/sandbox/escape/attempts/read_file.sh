# Read a file outside.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
cat "$OUT/secret"
