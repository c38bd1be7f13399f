/** Programs that run other programs: what counts is what they run. */
export const WRAPPERS = `
env ; posix - -i0v -u:text -C:read -S:split --ignore-environment --null --unset:text --chdir:read --split-string:split --block-signal?:text --default-signal?:text --ignore-signal?:text --list-signal-handling --debug -P:ask --argv0:text -a:text --help~ --version~ ; assigned ; rule:env
sudo, doas, pkexec, sudo-rs ; posix -bEeHnPKklv -u:text -g:text -p:text -C:num -h:text -r:text -t:text -T:num -U:text -D:read -R:read --user:text --group:text --preserve-env?:text --non-interactive --login!sudo --shell!sudo -S!sudo -A!sudo -s!sudo -i!sudo --stdin!sudo --askpass!sudo --background --set-home --reset-timestamp --list --validate --prompt:text --host:text --chdir:read -l --version~ --help~ ; assigned ; rule:sudo
su, runuser ; -lmpPflT - -c:sh -s:text -g:text -G:text -u:text -w:text --command:sh --shell:text --login --group:text --user:text --preserve-environment --session-command:sh ; somewhere
sg, newgrp ; - -c:sh --command:sh ; text shell
eatmydata, fakeroot, rlwrap, catchsegv, torsocks, torify, tsocks, proxychains, proxychains4, dbus-run-session, dumb-init, tini, catatonit, caffeinate, winpty, s6-setsid, softlimit, xvfb-run, dbus-launch, gamemoderun, primusrun, optirun, prime-run, aoss, padsp, apulse, vglrun, nocache, fakechroot, memusage, linux32, linux64, i386, i486, i586, i686, x86_64, uname26, s390x, sparc64, ppc64 ; posix any ; cmd
time ; posix -apvqV -f:text -o:write --format:text --output:write --append --verbose --portability --quiet ; cmd
setsid ; posix -cfw --fork --ctty --wait ; cmd
nohup ; posix --help~ --version~ ; cmd
nice ; posix -n:num -0:num -1:num -2:num -3:num -4:num -5:num -6:num -7:num -8:num -9:num --adjustment:num ; cmd
ionice ; posix -t -c:text -n:num -p:num -P:num -u:num --class:text --classdata:num --ignore ; cmd
chrt ; posix -abdefimoprRTPDvG -p --fifo --rr --batch --idle --other --reset-on-fork --sched-runtime:num --sched-deadline:num --sched-period:num -T:num ; num cmd
taskset ; posix -a -p -c --cpu-list --pid --all-tasks ; text cmd
numactl ; posix any -m:text -N:text -C:text -i:text -p:text -l ; cmd
choom ; posix -n:num -p:num --adjust:num --pid:num ; cmd
timeout, gtimeout ; posix -vp -k:text -s:text --kill-after:text --signal:text --foreground --preserve-status --verbose ; text cmd
stdbuf ; posix -i:text -o:text -e:text --input:text --output:text --error:text ; cmd
setarch ; posix -BFILRSTXZv3 -p:text --uname-2.6 --addr-no-randomize --verbose --show ; text cmd
setpriv ; posix any --reuid:text --regid:text --groups:text --inh-caps:text --bounding-set:text --ambient-caps:text ; cmd
capsh ; posix any -c:run ; text ; !program
prlimit ; posix any -p:num --pid:num -o:text --output:text ; cmd
unshare ; posix any -S:text -G:text -R:text -w:text --root:text --wd:text --setuid:text --setgid:text --map-users:text --map-groups:text --propagation:text ; cmd
nsenter ; posix any -t:num -S:text -G:text --target:num --setuid:text --setgid:text ; cmd
chroot ; posix any --userspec:text --groups:text ; text cmd
bwrap, proot, firejail, systemd-nspawn, minijail0, nsjail ; posix any ; somewhere ; !unknown
cgexec, cset, aa-exec, runcon ; posix any -g:text -p:text -t:text -u:text -r:text ; cmd
flock ; posix -eFnosuxv -E:num -w:num -c:sh --exclusive --shared --nonblock --timeout:num --unlock --close --conflict-exit-code:num --no-fork --verbose --command:sh ; text cmd ; rule:flock
strace, ltrace, dtruss, truss ; posix any -o:pipe -e:text -p:num -s:num -u:text -E:variable -a:num -S:text -P:text -O:num -I:num -b:text -X:text -U:text --output:pipe --trace:text ; cmd
perf ; posix ; sub
perf stat, perf record, perf trace, perf mem ; posix any -e:text -o:write -F:num -p:num -g -a -d -r:num -C:num --call-graph:text -x:text ; cmd
perf report, perf list, perf script, perf annotate, perf top, perf diff ; any ; text
valgrind, rr, heaptrack, kcov ; posix any ; cmd
gdb, lldb, cgdb ; posix single -q -batch!program --batch!program -nx --nx -quiet -silent -p:num --pid:num -c:read --core:read -ex:run -ex*!program -x:ask --command:ask -x*!program -iex:run --eval-command:run --init-eval-command:run -o:run -O:run -s:ask -S:ask --one-line:run --source:ask --args ; cmd
watch, gwatch, viddy, hwatch ; posix -bcdegtpxwrC -n:num -d?:text --interval:num --differences?:text --no-title --color --errexit --chgexit --exec --beep --precise -q:num ; shell
script ; posix -aefqt -c:sh -I:write -O:write -B:write -T:write -E:text -m:text --command:sh --quiet --append --return --flush ; write cmd
scriptreplay ; any ; read
unbuffer ; posix -p ; cmd
gosu, su-exec, faketime, cpulimit, envdir, chpst, setuidgid ; posix any -l:num ; text cmd
screen ; posix -adDimnqrRUvxL -S:text -s:run -c:ask -t:text -e:text -T:text -X!program -Q:text --version -p:text -h:num ; cmd
tmux ; posix any -f:ask -c:run -L:text -S:text ; sub
tmux ls, tmux list-sessions, tmux list-windows, tmux list-panes, tmux capture-pane, tmux attach, tmux attach-session, tmux kill-session, tmux has-session, tmux display-message, tmux show-options, tmux select-pane, tmux select-window, tmux detach, tmux resize-pane, tmux a ; any -t:text -S:text -F:text -E:text ; text
tmux new, tmux new-session, tmux new-window, tmux split-window, tmux respawn-pane, tmux neww, tmux splitw ; posix any -s:text -n:text -c:text -t:text -x:num -y:num -F:text -l:text -e:variable ; shell
tmux send-keys, tmux send, tmux run-shell, tmux run, tmux if-shell, tmux pipe-pane, tmux source-file, tmux set-hook, tmux bind-key ; posix any -t:text ; shell ; !program
systemd-run, systemd-cat, systemd-inhibit ; posix any -u:text --unit:text -p:text --property:text -E:variable --setenv:variable --description:text --slice:text --uid:text --gid:text -t:text --on-calendar:text --on-active:text --what:text --who:text --why:text -M:text -H:text ; cmd
start-stop-daemon ; any -S --start -a:run --startas:run -x:run --exec:run -p:text --pidfile:text -K!service --stop!service ; texts
busybox, toybox ; posix --list~ --help~ ; cmd
ld.so ; posix any --library-path:text --preload:ask --argv0:text --audit:ask --list~ --verify~ ; cmd
xargs, gxargs ; posix -0oprtx -a:read -d:text -E:text -e?:text -I:text -i?:text -L:num -l?:num -n:num -P:num -s:num --null --arg-file:read --delimiter:text --replace?:text --max-args:num --max-lines?:num --max-procs:num --no-run-if-empty --verbose --interactive --exit --open-tty --process-slot-var:text --show-limits --eof?:text --max-chars:num -J:text -R:num -S:num --help~ --version~ ; cmd ; rule:xargs
parallel, sem, rust-parallel ; posix any -j:text -a:read -S:ask -n:num -N:num -I:text -d:text -C:text --colsep:text --arg-file:read --jobs:text --results:write --joblog:write --tmpdir:write --timeout:text --retries:num --delay:text --halt:text --sshlogin:ask --tag --env:text --shebang!program --rpl:ask ; cmd ; rule:parallel
entr ; posix -acdnprsz ; cmd
reflex, modd, chokidar, onchange, when-changed ; posix any -c:sh --command:sh ; skip-to-cmd
ccache, sccache, distcc, shx ; posix any ; cmd
watchexec, nodemon ; posix any -e:text -w:text -i:text --exts:text --watch:text --ignore:text -x:sh --exec:sh -c:sh -r:text -d:text --command:sh ; tool
concurrently, npm-run-all, run-s, run-p, wireit ; any -n:text -c:text --names:text --prefix:text -p:text --kill-others ; npmscript
cross-env, cross-env-shell, dotenv, env-cmd, dotenvx ; posix any -e:read -f:read -c:text -v:variable ; assigned
wait-on, wait-for-it, wait-for, dockerize, wait-port ; any ; text
start-server-and-test ; any ; text
retry, backoff ; posix any -t:num -d:num ; cmd
direnv ; posix ; sub
direnv exec ; posix ; text cmd
direnv allow, direnv status, direnv reload, direnv edit, direnv deny, direnv show_dump ; any ; text
direnv hook, direnv export ; any ; text ; >setup
nix-shell ; any --run:sh --command:run -c:run -p:text -A:text -E:ask --expr:ask ; text
nix ; posix any ; sub
nix run, nix shell, nix develop ; any -c!program --command!program --expr:ask ; text ; when:program:^--$
nix * ; any -E:ask --expr:ask ; text
run-parts ; any ; text ; !program
pipexec, daemonize, daemon, nq, tsp, chronic, ifne, vipe, zrun, mispipe, lckdo, pee, combine ; posix any ; ask cmd
at, batch ; any -f:ask -l -r -d -c -q:text -t:text -m -M ; text ; rule:at
ssh-agent ; posix -csDdk -a:text -t:num -E:text -P:text ; cmd ; >setup
op, doppler, aws-vault, infisical, teller, chamber, envconsul, mise, rtx, asdf, pyenv, rbenv, nodenv, goenv, jenv, fnm, nvm, volta, n, sdk, rustup, ghcup, tfenv, rvm, chruby, proto ; posix any ; sub
`;
