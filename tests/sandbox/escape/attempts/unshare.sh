# Become root in a namespace.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
unshare -Ur echo BITTEN
