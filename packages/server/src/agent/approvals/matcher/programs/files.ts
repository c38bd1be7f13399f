/** Programs that list, copy, move, delete and pack files. The form of the rows is in table.ts. */
export const FILES = `
ls, dir, vdir, ll, la, exa, eza, lsd ; any ; text
tree ; any -o:write ; read
pwd ; any ; text ; >text
stat, file, du, df, realpath, readlink, basename, dirname, namei, mountpoint, pathchk, lsattr, getfacl ; any ; text ; >text
cat, tac, bat, batcat ; any --pager:run --config-file:read ; read ; >same
zcat, bzcat, xzcat, zstdcat, lz4cat ; any ; read ; >decoded
cp, gcp ; -aAbdfHiLlnPpRrsTuvxXZ -S:text -t:write --archive --attributes-only --backup?:text --force --interactive --link --no-clobber --no-dereference --dereference --parents --preserve?:text --no-preserve:text --recursive --reflink?:text --remove-destination --sparse:text --strip-trailing-slashes --symbolic-link --suffix:text --target-directory:write --no-target-directory --update?:text --verbose --one-file-system -c ; copied write$ ; rule:copy >nothing
mv, gmv ; -bfinTuvZ -S:text -t:write --backup?:text --force --interactive --no-clobber --suffix:text --target-directory:write --no-target-directory --update?:text --verbose --strip-trailing-slashes --exchange ; moved write$ ; rule:copy >nothing
install ; -bcCdDpsTvZ -g:text -m:mode -o:text -S:text -t:write --strip-program:run --mode:mode --directory --owner:text --group:text --target-directory:write --verbose --compare ; copied write$ ; >nothing
ln, link ; -bdfFiLnPrsTv -S:text -t:write --symbolic --force --relative --no-dereference --verbose --target-directory:write --backup?:text ; copied link$ ; >nothing
mkdir ; -pvZ -m:mode --parents --verbose --mode:mode ; write ; >nothing
rmdir ; any ; delete ; >nothing
touch ; any -r:read --reference:read -d:text -t:text --date:text ; write ; >nothing
mktemp ; any -p:text --suffix:text ; text ; >text
mkfifo, mknod ; any -m:mode --mode:mode ; write ; >nothing
truncate ; any -s:text -r:read --size:text --reference:read ; write ; >nothing
fallocate ; any -l:text -o:text --length:text --offset:text ; write
rm, grm, srm ; -dfivPWI --force --verbose --dir --interactive?:text --one-file-system --preserve-root?:text -r!recursive -R!recursive --recursive!recursive --no-preserve-root!never-wipe ; delete ; >nothing
unlink, trash-put ; any ; delete ; >nothing
rimraf, del-cli, del, trash, trash-cli, premove ; any ; tree ; >nothing
shred, wipe, scrub ; any -n:num -s:text --iterations:num --size:text --random-source:read ; delete
find, gfind ; any ; texts ; rule:find
fd, fdfind ; any single -x!program -X!program --exec!program --exec-batch!program -e:text -E:text -t:text -d:num -g -H -I -u -l -0 -a -c:text --extension:text --exclude:text --type:text ; text
locate, plocate, updatedb, whereis ; any ; text
chmod, gchmod ; any --reference:read ; mode text ; >nothing
chown, chgrp ; any --reference:read --from:text ; owner text ; >nothing
umask ; any ; text
chattr ; any ; text write
setfacl, setcap ; any ; text ; !unknown
tar, gtar, bsdtar ; -cxtruAdzjJaZvkpmOSWlwBhisn -P!outside -f:write -C:write -T:read -X:text -b:num -H:text -V:text -N:text -g:write -K:text -I:compressor --create --extract --get --list --append --update --file:write --directory:write --gzip --bzip2 --xz --zstd --lzma --auto-compress --verbose --exclude:text --exclude-from:read --exclude-vcs --exclude-vcs-ignores --files-from:read --strip-components:num --transform:text --xform:text --owner:text --group:text --numeric-owner --same-owner --no-same-owner --same-permissions --no-same-permissions --preserve-permissions --mtime:text --sort:text --format:text --mode:text --wildcards --no-wildcards --null --one-file-system --keep-old-files --overwrite --skip-old-files --to-stdout --totals --dereference --hard-dereference --no-recursion --anchored --ignore-failed-read --warning:text --show-transformed-names --use-compress-program:compressor --to-command:run --checkpoint?:num --checkpoint-action:action --rsh-command:run --rmt-command:run --info-script:run --new-volume-script:run -F:run --remove-files!recursive --pax-option:text --clamp-mtime --touch --absolute-names!outside --xattrs --acls --no-xattrs --no-acls --full-time --compare --diff --delete --concatenate --block-number --utc --no-overwrite-dir --unlink-first --recursive-unlink!recursive ; read ; rule:tar
cpio ; -itodvmuaHcBLp0 -F:read -I:read -O:write --quiet --extract --list --create --make-directories --no-absolute-filenames --format:text -D:write -R:text ; text
zip ; -rqvjyuf0123456789 -9 -@ -X -D -l -x:text -i:text -P:text -s:text --exclude:text -T --unzip-command:run -m!recursive --move!recursive -b:write -e -FS -R -n:text --recurse-paths --quiet --symlinks ; write read ; when:program:^-TT|^--unzip-command
unzip, zipinfo ; -lvtqonjpZa -d:write -x:text -P:text -K -C -L -u -f -O:text ; read text
7z, 7za, 7zr, 7zz ; any single -sdel!recursive ; text
unrar, rar ; any ; text
gzip, pigz ; any ; read ; >decoded
gunzip, bunzip2, unxz, unzstd, uncompress, unlzma ; any ; read ; >decoded
bzip2, xz, zstd, lz4, brotli, lzma, compress ; any -o:write --rm ; read ; >decoded
rsync ; -avzhrlptgoDHAXSnPuqcCxkKLRiWEOJ0y46b -e:transport -f:text -B:num -M:ask -T:write --rsh:transport --rsync-path:run --archive --verbose --compress --human-readable --recursive --progress --partial --dry-run~ -n~ --exclude:text --include:text --exclude-from:read --include-from:read --filter:text --files-from:read --stats --info:text --links --perms --times --checksum --update --ignore-existing --existing --inplace --append --append-verify --bwlimit:text --port:num --timeout:num --partial-dir:text --backup --backup-dir:write --suffix:text --chmod:mode --chown:text --no-perms --no-owner --no-group --no-times --omit-dir-times --out-format:text --itemize-changes --size-only --copy-links --relative --mkpath --whole-file --numeric-ids --sparse --delete!recursive --del!recursive --delete-before!recursive --delete-during!recursive --delete-delay!recursive --delete-after!recursive --delete-excluded!recursive --remove-source-files!recursive --password-file:read --log-file:write --quiet --safe-links --hard-links --acls --xattrs --max-size:text --min-size:text --no-recursive --dirs --list-only --temp-dir:write ; read write$
scp ; -346ABCpqrTv -c:text -F:read -i:text -J:text -l:num -o:sshopt -P:num -S:run -D:run -X:text -O -s -R ; read write$
sftp ; -46aCfpqrvN -b:conf -o:sshopt -P:num -i:text -J:text -F:read -S:run -D:run -l:num -c:text ; text ; stdin:program
dd, dcfldd, dc3dd ; assign if=:read of=:write bs=:text count=:text conv=:text status=:text skip=:text seek=:text iflag=:text oflag=:text ibs=:text obs=:text cbs=:text --help~ --version~ ; text ; !dd
ddrescue ; any ; read write text ; !dd
patch ; any -i:read -o:write -d:write -r:write -p:num --input:read --output:write --directory:write -B:text -z:text --ed!program -e!program ; write
diff, colordiff, cmp, diffstat, sdiff, comm, interdiff, filterdiff, delta ; any --pager:run --diff-program:run --output:write -o:write ; read
sync, inotifywait ; any ; text
csplit ; any -f:write --prefix:write -n:num -b:text ; read text
split ; -abCdelnxtu0123456789kqszf -l:num -b:text -n:text -a:num -C:text -t:text -f:text --lines:num --bytes:text --number:text --suffix-length:num --additional-suffix:text --numeric-suffixes?:num --hex-suffixes?:num --line-bytes:text --verbose --elide-empty-files --filter:run -d ; read write
dos2unix, unix2dos, mac2unix ; any ; write
rename, prename, mmv, vidir, detox ; any -e:code ; ask
md5sum, sha1sum, sha256sum, sha512sum, sha224sum, sha384sum, b2sum, shasum, sum, md5, xxhsum, b3sum ; any ; read ; >text
stow ; any -D!unknown ; text
`;
