# Copy a file to a place outside.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
echo x > mine; cp mine "$OUT/new"
