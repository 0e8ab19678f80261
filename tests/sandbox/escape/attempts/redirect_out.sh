# Empty a file outside by a redirection.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
: > "$OUT/readable/file"
