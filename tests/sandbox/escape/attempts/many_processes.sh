# Start more processes than the limit, in the background.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
i=0
while [ $i -lt 120 ]; do sleep 3 & i=$((i + 1)); done
sleep 1
echo BITTEN
