# The first steps of a sandbox of the fake, in new namespaces: a root that has this machine's programs, and what the image
# has at /talaria. Then it becomes the command. It says so on descriptor 3 once the root is there. The programs that
# $WITHOUT names are missing.
set -e
root=$1
image=$2
shift 2
mount -t tmpfs none "$root"
cd "$root"
mkdir proc dev tmp talaria old
for path in /usr /etc /bin /sbin /lib /lib32 /lib64 /libx32; do
  if [ -L "$path" ]; then
    cp -P "$path" .
  elif [ -d "$path" ]; then
    mkdir ".$path"
    mount --rbind "$path" ".$path"
    mount -o remount,bind,ro ".$path"
  fi
done
for program in $WITHOUT; do
  [ ! -e "usr/bin/$program" ] || mount --bind /dev/null "usr/bin/$program"
done
mount --rbind /dev dev
mount -t tmpfs none tmp
mount --bind "$image" talaria
mount -t proc proc proc
pivot_root . old
umount -l /old
rmdir /old
cd /
echo >&3
exec 3>&-
exec "$@"
