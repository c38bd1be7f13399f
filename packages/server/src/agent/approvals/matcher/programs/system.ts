/** The machine: processes, services, disks, users, power. */
export const SYSTEM = String.raw`
pgrep, pidof ; any ; text ; >setup
pstree, btop, atop, glances, vmstat, iostat, mpstat, sar, lscpu, lsblk, lspci, lsusb, lsmem, lsmod, lshw, dmidecode, inxi, blkid, findmnt, nvidia-smi, rocm-smi, sensors, acpi, numastat, slabtop, pidstat, iotop, nethogs, iftop, dstat, pmap, pwdx, prtstat, peekfd, journalctl, dmesg, logger, systemd-analyze, systemd-detect-virt, systemd-escape, systemd-path, lastcomm, ipcs, getfattr, quota, dumpe2fs, smartctl, swapon, sestatus, getenforce, aa-status, ausearch, aureport, lsns, lsipc, lslocks, lslogins, faillog, runlevel, tload, lsinitramfs, kmod, modinfo, xrandr, xdpyinfo, glxinfo, vainfo, v4l2-ctl, pactl, xclip, xsel, pbcopy, pbpaste, wl-copy, wl-paste, notify-send, say, setterm, ldconfig, update-ca-certificates, locale-gen, fc-list, fc-cache ; any -w:text --write:text --vacuum-size:ask --vacuum-time:ask --rotate!unknown -o:text -d:text ; text
top, htop, free, ps, lsof, ss, netstat ; any -K!unknown --kill!unknown ; text
sysctl ; any -w!config --write!config -p?!config --load?!config --system!config ; text ; when:config:=
ifconfig, route, arp, iwconfig, brctl, ethtool, tc, ip, nmcli, networkctl, resolvectl, rfkill, wg ; any single -b:ask -batch:ask --batch:ask -force ; text ; when:program:^(?:exec|netns)$ when:config:^(?:add|del|delete|set|flush|change|replace|up|down|append)$
iptables, ip6tables, nft, ufw, firewall-cmd, iptables-restore, ebtables, arptables, ipset ; any -L~ --list~ -S~ --state~ --modprobe:run ; text ; when:config:^(?:-[ADFIPXNRZ]|--(?:append|delete|flush|insert|policy|add.*|remove.*|permanent|reload)|flush|add|delete|insert|enable|disable|reset|allow|deny|reject|reload|create|destroy)$ stdin:config
kill ; any single ; texts ; rule:kill
pkill, killall, skill ; any single ; texts ; rule:pkill
killall5 ; any ; text ; !killall
fuser ; any -k!forcekill --kill!forcekill ; text
renice ; any ; text
systemctl ; posix any -t:text -p:text -n:num -o:text -H:text -M:text --type:text --state:text --property:text --lines:num --output:text --host:text --machine:text --root:text -s:text --job-mode:text ; sub
systemctl status, systemctl show, systemctl list-units, systemctl list-unit-files, systemctl list-timers, systemctl list-sockets, systemctl list-jobs, systemctl list-dependencies, systemctl list-machines, systemctl is-active, systemctl is-enabled, systemctl is-failed, systemctl is-system-running, systemctl cat, systemctl help, systemctl get-default, systemctl show-environment, systemctl daemon-reload, systemctl enable, systemctl start, systemctl reload, systemctl reset-failed, systemctl unmask, systemctl preset, systemctl reenable, systemctl whoami, systemctl try-reload ; any ; text ; when:never-power:^(?:poweroff|reboot|halt|kexec|shutdown|emergency|rescue|runlevel[06])(?:\.target)?$
systemctl stop, systemctl restart, systemctl try-restart, systemctl reload-or-restart, systemctl try-reload-or-restart, systemctl disable, systemctl mask, systemctl kill, systemctl force-reload, systemctl condrestart, systemctl isolate, systemctl freeze, systemctl clean, systemctl daemon-reexec, systemctl set-default, systemctl revert, systemctl condstop ; any ; text ; !service when:never-power:^(?:poweroff|reboot|halt|kexec|shutdown|emergency|rescue|runlevel[06])(?:\.target)?$
systemctl poweroff, systemctl reboot, systemctl halt, systemctl kexec, systemctl soft-reboot, systemctl suspend, systemctl hibernate, systemctl hybrid-sleep, systemctl suspend-then-hibernate, systemctl emergency, systemctl rescue, systemctl exit, systemctl default, systemctl switch-root, systemctl sleep ; any ; text ; !never-power
systemctl edit, systemctl link, systemctl set-environment, systemctl import-environment, systemctl set-property, systemctl add-wants, systemctl add-requires ; any ; text ; !config
service, rc-service, invoke-rc.d ; any --status-all~ ; text ; when:service:^(?:stop|restart|try-restart|force-reload|condrestart|kill|disable|unload|bootout|remove|down|term|force-stop|quit|reload-or-restart|shutdown)$
launchctl, initctl, supervisorctl, sv, rc-update, chkconfig, update-rc.d, monit, s6-svc, svcadm, runit, dinitctl, rcctl ; any -c:read ; text ; when:service:^(?:stop|restart|try-restart|force-reload|condrestart|kill|disable|unload|bootout|remove|down|term|force-stop|quit|reload-or-restart|shutdown)$
shutdown ; any -c~ --show~ ; text ; !never-power
reboot, halt, poweroff ; any -w~ --wtmp-only~ ; text ; !never-power
init, telinit ; any -t:num ; text ; when:never-power:^[06]$
loginctl ; any ; text ; when:never-power:(?:^|\.)(?:PowerOff|Reboot|Halt|Suspend|Hibernate|poweroff|reboot|halt|suspend|hibernate)$
dbus-send, busctl, gdbus, qdbus, dbus-monitor ; any ; text ; when:never-power:(?:^|\.)(?:PowerOff|Reboot|Halt|Suspend|Hibernate|poweroff|reboot|halt|suspend|hibernate)$
pm-suspend, pm-hibernate, pm-powersave, zzz, systemd-shutdown, kexec, rtcwake ; any ; text ; !never-power
mkfs, mke2fs, mkswap, mkdosfs, mkntfs, newfs, pvcreate, blkdiscard, mkfs_msdos, mkudffs, vgremove, lvremove, pvremove, vgcreate, lvcreate, lvreduce, lvextend, vgextend ; any ; device ; !format disk
sfdisk ; any -l~ --list~ -d~ --dump~ -V~ -s~ ; device ; !format disk
fsck, e2fsck, xfs_repair, btrfsck, ntfsfix, resize2fs, tune2fs, xfs_admin, xfs_growfs, debugfs, e2label, btrfs, bcachefs ; any -N~ -n~ -l~ ; text ; !format
wipefs ; any -n~ --no-act~ -a!format --all!format -o:text ; device ; disk
badblocks ; any -w!format -n!format ; device ; disk
cryptsetup, veritysetup, integritysetup ; any ; device ; when:format:^(?:luksFormat|erase|luksErase|reencrypt|format)$ disk
hdparm, sdparm ; any single --security-erase*!format --trim-sector*!format --write-sector*!format --make-bad*!format -I -i ; text
nvme, zpool, zfs, mdadm, diskutil, ceph, lvm, multipath ; any ; text ; when:format:^(?:format|sanitize|write-zeroes|delete-ns|create|destroy|labelclear|rollback|-C|--create|--zero-superblock|lvremove|vgremove|rm|remove)$ when:never-disk:^(?:erase|zeroDisk|secureErase|partitionDisk|reformat) disk
fdisk, cfdisk, gdisk, sgdisk, parted, partprobe, growpart ; any -l~ --list~ -p~ --print~ -d~ --dump~ -v~ --verify~ -V~ -s --show-size ; device ; !format when:never-disk:^(?:mklabel|mktable|mkpart|rm|resizepart|-Z|-z|-o|--zap|--zap-all|--clear|--delete|--wipe)$
mount, umount, mount.nfs, sshfs, fusermount, udisksctl, pmount, losetup ; any -o:mountopt --bind!unknown -t:text ; text ; when:unknown:^/dev/
swapoff, mkinitcpio, dracut, update-initramfs, update-grub, grub-install, grub-mkconfig, efibootmgr, bootctl, modprobe, insmod, rmmod ; any -n~ -l~ ; text ; !config
useradd, userdel, usermod, groupadd, groupdel, groupmod, adduser, deluser, addgroup, delgroup, passwd, chpasswd, chsh, chfn, gpasswd, vipw, vigr, newusers, pwconv, visudo, dpkg-statoverride, dpkg-divert, hwclock, authselect, pam-auth-update, pwck ; any -S~ --status~ --display~ --list~ --query~ -c~ ; text ; !config
update-alternatives, alternatives ; any --display~ --list~ --query~ --get-selections~ ; text ; !config
timedatectl, hostnamectl, localectl ; any ; text ; when:config:^set-
crontab ; any -l -u:text -r -e -i ; text ; rule:crontab
anacron, cron, atd, atrm, atq ; any ; text
coredumpctl ; posix any ; ask
security ; any ; text ; !secret
defaults ; any ; text ; when:config:^(?:write|delete|import)$
pass, gopass, bw, lpass, keyring, secret-tool, kwallet-query, gnome-keyring, vault ; any ; text ; !secret
age, sops ; any -d!secret --decrypt!secret -o:write --output:write ; read
gpg, gpg2, gpgv ; any -o:write --output:write --export-secret-keys!secret --export-secret-subkeys!secret --delete-secret-keys!shared --delete-keys!shared --photo-viewer:run --exec-path:ask --agent-program:run --pinentry-program:run --dirmngr-program:run -d --decrypt ; read
ssh-keygen ; any -D:ask -w:ask -f:text -t:text -C:text -N:text -b:num -P:text -s:read -I:text -n:text -V:text -R:text -F:text ; text
ssh-add, ssh-copy-id, ssh-keyscan ; any -s:ask -S:ask -P:ask -i:text ; text
getcap, setenforce, setsebool, semanage, restorecon, chcon, auditctl, apparmor_parser, aa-complain, aa-disable ; any ; text ; !config
mkinitramfs, logrotate ; any -d~ --debug~ ; text ; !program
java_home, tzselect, ntpdate, chronyc, ntpq ; any ; text
`;
