/** Shells, their builtins, and interpreters of other languages. */
export const SHELL = `
sh, bash, dash, zsh, ksh, mksh, ash, rbash, yash, oksh ; posix -abefhiklmnprtuvxBCEHPTs + -c -o:text -O:text --norc --noprofile --login --posix --verbose --restricted --noediting --version~ --help~ --rcfile:run --init-file:run --debugger!unknown -D -q -f ; shell ; rule:shell
fish ; posix -ilNnP -c -C:run --init-command:run -o:write -d:text --login --interactive --no-config --private --version~ --help~ ; shell ; rule:shell
csh, tcsh, elvish, nu, nushell, xonsh, pwsh, powershell, rc, es, osh, ysh ; posix single -c:code -Command:code --command:code -e:code --commands:code ; script ; rule:interpreter
eval ; posix ; shell ; rule:eval
source, . ; posix ; script
exec ; posix -a:text -cl ; cmd ; rule:exec
command ; posix -pvV ; cmd ; rule:command
builtin, nocorrect, noglob ; posix ; cmd
cd, chdir, pushd, popd, dirs ; -LPe@n ; read ; rule:cd >nothing
export, declare, typeset, local, readonly ; -pxraAilugtTfF -n!again + ; texts ; rule:declare >nothing
unset, unalias ; any ; text ; rule:evaluates >nothing
set ; any single -P!again -o:text +o:text ; texts ; rule:set >nothing
shift ; any ; text ; rule:shift >nothing
shopt, ulimit, caller ; any ; text ; >nothing
alias ; any ; texts ; rule:alias >nothing
read ; -ersu0123456789 -a:text -d:text -i:text -n:num -N:num -p:text -t:text -u:num -s ; text ; rule:read >nothing
mapfile, readarray ; -t -d:text -n:num -O:num -s:num -u:num -C:run -c:num ; text ; rule:read >nothing
getopts, getopt ; any ; text ; rule:read >nothing
trap ; any single -l~ -p~ ; text ; rule:trap >nothing
hash ; any -p!program ; text
type, which, whence, where ; any ; text
enable ; -anps -f!program -d ; text
bind ; any -x!program -f:ask -u:text ; text
complete, compopt ; any -C:run -F:text -W:expanded -o:text -A:text -G:text -X:text -P:text -S:text ; text
compgen ; any -C:run -F!program -W:expanded -A:text ; text
fc ; any -e:run -s!again ; text
history ; any single -s!again -p!again -r:ask -w:write -a:write -n:ask ; text
jobs ; any -x!program ; text
python, python2, python3, pypy, pypy3, ipython ; any posix -i!code -c:code -m:pymodule -W:text -X:text -Q:text --check-hash-based-pycs:text ; script ; rule:python
node, nodejs ; any posix -i!code --interactive!code -e:code -p:code --eval:code --print:code -r:module --require:module --import:module --loader:module --experimental-loader:module --env-file:read -C:text --conditions:text --title:text --input-type:text --test-reporter:text --test-name-pattern:text --max-old-space-size:num --inspect?:text --experimental-default-type:text --run:text --openssl-config:ask --redirect-warnings:write --watch-path:read ; script ; rule:interpreter
perl ; posix -wWcvVTtuUh -I:read -i?:text -e:code -E:code -M:code -m:code -n -p -la0123456789 -F:text -s -S -x!code -d!code -D!code -C?:text ; script ; rule:interpreter
ruby, jruby, irb, pry ; posix any -e:code -r:module -I:read -C:read -E:text -F:text -x?:ask -n -p ; script ; rule:interpreter
php ; posix -vmilnhqwstaCH -f:read -r:code -R:code -B:code -E:code -F:code -d:phpini -c:read -S:text -t:read -z:ask --version --ini --info --rf:text --ri:text ; script ; rule:interpreter
lua, luajit, luau, texlua ; posix any -e:code -l:module -i -v -E -W ; script ; rule:interpreter
Rscript, R ; posix any -e:code --file:read --args -f:read ; script ; rule:interpreter
julia, octave, matlab, scilab, maxima, gp, sage ; posix any -e:code -E:code -L:code --eval:code -r:code -p:text --project?:text ; script ; rule:interpreter
elixir, iex, erl, escript, groovy, scala, scala-cli, kotlin, bb, racket, guile, sbcl, clisp, ecl, gforth, swipl, ocaml, ghc, ghci, runghc, runhaskell, jshell, coffee, ts-node, tsx, esno, swc-node, babel-node, zx, vite-node, jiti, dart, nim, crystal, zig, v, raku, tclsh, wish, gnuplot, gst, rexx, pike, smalltalk, janet, fennel, hy ; posix any -e:code -E:code -p:code -c:code -g:code --eval:code --execute:code --erl:code --main-opts:code -r:module --require:module -l:ask --load:ask -s?:text --import:module ; script ; rule:interpreter
clojure, clj ; posix any single -e:code --eval:code -i:conf ; script ; rule:interpreter
osascript ; posix any -e:code -l:text ; script ; rule:interpreter
expect ; posix -c:code -f:read -i -d -n -N -b ; script ; rule:interpreter
deno ; posix any ; sub
deno run, deno test, deno bench, deno serve ; posix any ; script
deno lint, deno fmt, deno check, deno cache, deno doc, deno info, deno task, deno compile, deno add, deno install, deno bundle, deno upgrade, deno types, deno init, deno publish ; any ; any
deno eval, deno repl ; any ; code ; !code
bun ; posix any -e:code --eval:code -p:code --print:code -r:module --preload:module ; sub
bun run, bun x ; posix any ; tool
bun test, bun install, bun add, bun build, bun init, bun create, bun update, bun link, bun pm, bun outdated, bun i, bun upgrade, bun publish, bun dev, bun start, bun lint ; any ; text
bun remove, bun rm ; any ; text ; !uninstall
bun * ; posix any ; texts
python -m timeit, python -m code, python -m pdb, python -m asyncio, python -m idlelib, python -m pstats, python -m runpy, python -m webbrowser ; any ; text ; !code
python -m cProfile, python -m profile, python -m trace, python -m coverage, python -m debugpy, python -m viztracer, python -m pyinstrument ; posix any -m:pymodule -o:write -s:text ; script ; rule:python
java ; single any -javaagent*!program -agentlib*!program -agentpath*!program -Xrun*!program -cp:text -classpath:text -jar:read -p:text -m:text --module-path:text -Xbootclasspath*!program ; texts ; when:program:^-XX:(?:OnError|OnOutOfMemoryError|Flags)
javac, kotlinc, scalac, groovyc, javadoc, javap, jar, jdeps, jlink, jpackage, jstack, jmap, jps, jcmd, jstat, jconsole, keytool, jarsigner ; any single -J*!program -processor:text -d:write ; text
`;
