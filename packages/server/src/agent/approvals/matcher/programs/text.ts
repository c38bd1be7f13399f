/** Programs that show, search and transform text. */
export const TEXT = String.raw`
echo ; any ; texts
printf ; any ; texts ; rule:printf
yes ; any ; texts
head, tail, wc, nl, fold, fmt, expand, unexpand, column, paste, tsort, look, strings, hexdump, hd, od, cksum, numfmt, factor, pr, ul, colrm, cut, join, iconv, recode, uconv ; any --output:write ; read
rev ; any ; read ; >decoded
uniq ; any ; read write
tr ; any ; text ; >decoded
base64, base32, basenc, uudecode ; any -d -D -r --decode ; read ; >decoded
sort, gsort ; -bcCdfghiMmnRrsuVz -k:text -t:text -o:write -S:text -T:write --key:text --field-separator:text --output:write --parallel:num --reverse --unique --numeric-sort --human-numeric-sort --version-sort --stable --random-sort --ignore-case --check?:text --buffer-size:text --temporary-directory:write --zero-terminated --batch-size:num --random-source:read --files0-from:read --general-numeric-sort --month-sort --merge --compress-program:run --dictionary-order --ignore-leading-blanks --debug --sort:text ; read
shuf ; any -o:write --output:write --random-source:read ; read
grep, egrep, fgrep, zgrep, ggrep, pcregrep, ugrep, zipgrep ; any -f:read -e:text -A:num -B:num -C:num -m:num --file:read --include:text --exclude:text --exclude-dir:text --color?:text ; text read
rg, ripgrep ; any -f:read -e:text -g:text -t:text -T:text -A:num -B:num -C:num -m:num -r:text -j:num --pre:run --hostname-bin:run --search-zip -z ; text read
ag, ack, sift ; any --pager:run ; text read
sed, gsed, ssed ; -nErsuz -e:text -f:read -i?:text -I?:text -l:num -b --quiet --silent --regexp-extended --expression:text --file:read --in-place?:text --separate --null-data --unbuffered --posix --debug --sandbox --follow-symlinks --line-length:num --binary ; text ; rule:sed
awk, gawk, mawk, nawk, original-awk ; any -F:text -v:text -f:read -i:read -E:read -e:code --source:code --file:read --include:read --exec:read -l:ask --load:ask -D?:ask --debug?:ask -p?:write --profile?:write -d?:write --dump-variables?:write -o?:write --pretty-print?:write -W:ask ; text ; rule:awk
tee ; any --append -a ; write ; rule:tee >same
sponge ; any ; write ; rule:tee >same
less, more, most, pg ; any -o:write -O:write --log-file:write -k:ask --lesskey-file:ask --lesskey-src:ask -P:text + ; read ; when:program:^\+.*!
man, info, apropos, whatis, tldr, cheat, help ; any -P:run --pager:run -H?:run --html?:run -M:read -C:ask --preprocessor:text -p:text ; text
jq, gojq, jaq ; any -f:read -L:read --from-file:read --arg:text --slurpfile:text --rawfile:text --argjson:text ; text read
yq ; any -i^ --inplace^ --in-place^ -o:text --output:write ; text read
tomlq, xq, dasel, fx, gron, mlr, xsv, csvcut, csvgrep, csvlook, csvstat, csvsort, csvsql, csvkit, qsv, jless, htmlq, pup, xmllint, xmlstarlet, tidy, hjson ; any -o:text --output:write ; text read
nano, vi, vim, nvim, view, vimdiff, emacs, emacsclient, micro, helix, hx, pico, mcedit, joe ; -nRbuovpdwmMNZg -g --wait --help -c!program --cmd!program -S!program -s!program -e!program -E!program --eval!program -f!program -l!program -x!program --load!program --batch!program --script!program -u:ask -U:ask -i:ask --noplugin --clean -O -p + ; write ; when:program:^\+(?:\D.*)?[!(:a-z]
code, subl, open, xdg-open, gedit, kate, mate, cursor, idea ; any --install-extension:ask -a:ask ; write
ed, ex, red ; any + -c!program ; write ; stdin:code when:program:^\+
m4 ; any -o:write ; conf ; stdin:code
envsubst, gettext, msgfmt, xgettext ; any -o:write ; read
pandoc ; any -o:write --output:write -F:run --filter:run -L:run --lua-filter:run --pdf-engine:sh --include-in-header:read --template:read -d:read --extract-media:write --data-dir:ask ; read
cal, date, ncal ; any -I?:text -d:text -r:read -f:read -s!unknown --set!unknown ; text ; >text
seq, jot, units, nproc, arch, uname, hostname, whoami, id, groups, logname, who, w, users, tty, uptime, locale, getconf, tput, stty, lsb_release, sw_vers, hostid, printenv, getent, last, lastlog, finger, cloc, tokei, scc, figlet, cowsay, lolcat, banner, toilet, ascii, qrencode, uuidgen, pwgen, neofetch, fastfetch, screenfetch ; any ; text ; >text
expr ; any ; texts ; rule:evaluates
bc ; any ; read ; >decoded
dc ; any -f:read -e:code --expression:code --file:read ; read ; stdin:code >decoded
true, false, :, sleep, exit, return, break, continue, wait, fg, bg, disown, times, logout, clear, reset, usleep, suspend ; any ; text ; >nothing
test, [, let ; single any ; texts ; rule:evaluates >nothing
xxd ; any ; read write ; >decoded
hexyl, hexedit, dhex ; any ; read
spell, aspell, hunspell, codespell, typos, vale, proselint, textlint, alex, write-good ; any ; text
ispell ; any ; text
diffoscope, wdiff, dwdiff, icdiff, difft, difftastic, meld ; any ; read
ts, pv, mbuffer, progress ; any -f:text ; text ; >same
fzf, peco, percol, gum, dialog, whiptail, zenity ; any --preview:run --bind:run --history:write -f:text ; text
dircolors ; any ; text ; >setup
`;
