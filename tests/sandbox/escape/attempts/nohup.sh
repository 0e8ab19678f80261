# Leave a process behind.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
TAG=$TAG nohup setsid sleep 97 >/dev/null 2>&1 </dev/null &
