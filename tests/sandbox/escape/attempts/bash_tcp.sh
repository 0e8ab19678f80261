# Connect by a redirection of bash.
OUT=$1 TCP=$2 UDP=$3 VICTIM=$4 TAG=$5
bash -c "echo x > /dev/tcp/127.0.0.1/$TCP"
