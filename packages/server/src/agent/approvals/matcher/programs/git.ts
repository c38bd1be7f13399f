/** git and other version control, and the command lines of their hosts. */
export const GIT = `
git ; posix -pPhv --no-pager --paginate --bare --no-replace-objects --literal-pathspecs --no-optional-locks --no-advice --html-path --man-path --info-path -C:read -c:config --git-dir:text --work-tree:text --namespace:text --exec-path?:ask --config-env:ask --super-prefix:text --version~ --help~ ; sub
git status, git log, git show, git diff, git diff-tree, git diff-index, git diff-files, git shortlog, git whatchanged, git range-diff, git format-patch, git rev-list, git blame, git annotate, git describe, git name-rev, git cherry, git merge-base, git show-branch, git show-ref, git for-each-ref, git rev-parse, git symbolic-ref, git ls-files, git ls-tree, git cat-file, git check-ignore, git check-attr, git check-mailmap, git var, git version, git help, git count-objects, git verify-commit, git verify-tag, git verify-pack, git fsck, git column, git stripspace, git interpret-trailers, git mailinfo, git request-pull, git bugreport, git diagnose, git patch-id, git get-tar-commit-id, git hash-object, git merge-tree, git unpack-file, git fmt-merge-msg, git merge-file, git commit-graph, git multi-pack-index, git pack-refs, git prune-packed, git repack, git gc, git maintenance, git last-modified ; any --output:write -o:write --ext-diff!program --textconv -O:read ; text ; >text
git grep ; any -O?:run!program --open-files-in-pager?:run!program -f:read -e:text ; text
git add, git stage, git mv, git commit, git merge, git cherry-pick, git revert, git tag, git notes, git restore, git apply, git am, git init, git update-index, git write-tree, git commit-tree, git read-tree, git mktree, git mktag, git replace, git rerere, git sparse-checkout, git bundle, git archive, git unpack-objects, git pack-objects, git index-pack, git checkout-index, git mailsplit, git quiltimport, git subtree, git lfs, git flow, git absorb, git town, git machete, git cz ; any --template:ask --exec:run --remote:gitremote --unsafe-paths!outside -F:read --file:read -o:write --output:write -c:text -m:text --message:text --edit ; text
git worktree ; posix ; sub
git worktree remove ; any -f!recursive --force!recursive ; text
git worktree * ; any ; write
git branch ; any -D!branch -f!branch --force!branch -M -C -m:text -u:text --set-upstream-to:text --format:text --sort:text ; text
git reset ; any --hard!hard ; text
git checkout, git switch ; any -f!hard --force!hard --discard-changes!hard -c:text -b:text ; text
git stash ; any -m:text --message:text ; text ; when:hard:^clear$
git reflog ; any ; text ; when:hard:^(?:expire|delete)$ >text
git update-ref ; any -d!branch --stdin!branch ; text
git rm ; any -f!recursive --force!recursive --cached~ ; text
git clean ; any -n~ --dry-run~ -f!clean --force!clean -e:text --exclude:text ; text
git rebase ; any -x:run --exec:run --onto:text -s:text -X:text --strategy:text -C:num ; text
git bisect ; posix any ; sub
git bisect start, git bisect good, git bisect bad, git bisect reset, git bisect skip, git bisect log, git bisect visualize, git bisect view, git bisect terms, git bisect replay, git bisect old, git bisect new ; any ; text
git bisect run ; posix ; cmd
git fetch, git pull, git clone, git ls-remote, git remote, git fetch-pack ; any --upload-pack:run -u:run --exec:run -c:config --config:config --template:ask -o:text --server-option:text -b:text --branch:text --depth:num --jobs:num -j:num --reference:read --separate-git-dir:write ; gitremote
git submodule ; posix any ; sub
git submodule foreach ; posix --recursive --quiet ; shell
git submodule add, git submodule init, git submodule update, git submodule status, git submodule sync, git submodule summary, git submodule deinit, git submodule set-url, git submodule set-branch, git submodule absorbgitdirs ; any ; gitremote
git push, git send-pack ; any --receive-pack:run --exec:run -o:text --push-option:text --repo:text -f!forcepush --force!forcepush --force-with-lease?!forcepush --force-if-includes!forcepush --mirror!forcepush --prune!forcepush -n~ --dry-run~ ; gitremote refspec
git config ; any -f:write --file:write --add --get:text --get-all:text --get-regexp:text --get-urlmatch:text -l --list --unset:text --unset-all:text --type:text --default:text --blob:text -e!unknown --edit!unknown --rename-section:text --remove-section:text ; text ; rule:gitconfig
git difftool, git mergetool ; any -x:run --extcmd:run -t:text --tool:text ; text
git filter-branch, git filter-repo, git fast-import, git send-email, git imap-send, git daemon, git shell, git instaweb, git web--browse, git credential, git credential-store, git http-backend, git upload-pack, git receive-pack, git prune, git p4, git cvsserver, git hook, git remote-ext, git for-each-repo, git upload-archive, git gui, git citool ; any ; text ; !unknown
git svn, git fast-export ; any ; text
gitk, tig, lazygit, gitui, git-lfs, git-cliff, git-absorb, gitleaks, trufflehog, commitlint, cz, standard-version, release-please, semantic-release, changeset, lint-staged, husky, pre-commit, lefthook, overcommit, commitizen, git-secrets, git-town, onefetch, gitmoji, conventional-changelog ; any -e:text --config:read ; text
hg, svn, bzr, fossil, jj, pijul, darcs ; any --config:ask --config-file:ask --editor-cmd:run --diff-cmd:run --config-option:run -e:text --ssh:run --remotecmd:run ; text
gh ; posix any ; sub
gh repo ; posix ; sub
gh repo delete, gh repo archive ; any ; text ; !shared
gh repo view, gh repo clone, gh repo list, gh repo create, gh repo fork, gh repo sync, gh repo edit, gh repo rename, gh repo set-default ; any ; text
gh release delete, gh secret delete, gh variable delete, gh run delete, gh issue delete, gh cache delete, gh codespace delete, gh gist delete, gh label delete ; any ; text ; !shared
gh pr, gh issue, gh run, gh workflow, gh release, gh label, gh gist, gh cache, gh project, gh search, gh variable, gh ruleset, gh codespace, gh org, gh auth, gh config, gh attestation ; posix any ; sub
gh pr *, gh issue *, gh run *, gh workflow *, gh release *, gh label *, gh gist *, gh cache *, gh project *, gh search *, gh variable *, gh ruleset *, gh codespace * ; any -F:read --body-file:read --editor ; text
gh api ; any -X:method --method:method --input:read ; text
gh org *, gh config * ; any ; text
gh auth status, gh auth login, gh auth setup-git, gh auth refresh, gh auth switch ; any ; text
gh auth token ; any ; text ; !secret
gh secret ; posix any ; sub
gh secret list ; any ; text
gh secret set ; any -b:text -f:read ; text
gh version, gh help, gh completion ; any ; text
gh status, gh browse, gh co ; any ; text
gh extension, gh alias ; posix any ; ask
glab, hub, tea, jira ; any ; text
`;
