/**
 * Keys of `git config` and `git -c` by what their value is. Unlisted keys ask: many name a program to run.
 */

/** The value is a program: it is judged as one. */
const PROGRAMS =
  /^(?:core\.(?:editor|pager)|sequence\.editor|pager\.\w+|gpg\.program|core\.sshcommand|diff\.external)$/i;

const HARMLESS =
  /^(?:user\.(?:name|email|signingkey)|author\.\w+|committer\.\w+|color\.[\w.]+|advice\.\w+|init\.defaultbranch|commit\.(?:gpgsign|verbose|template)|tag\.\w+|pull\.\w+|push\.\w+|fetch\.\w+|rebase\.\w+|merge\.(?:ff|conflictstyle|tool|renamelimit)|diff\.(?:renames|algorithm|colormoved|renamelimit|tool|mnemonicprefix|noprefix)|log\.\w+|status\.\w+|branch\.[\w./-]+|remote\.[\w.-]+\.(?:url|fetch|pushurl)|http\.(?:postbuffer|sslverify|lowspeed\w+|version|extraheader)|https?\.proxy|core\.(?:autocrlf|eol|quotepath|longpaths|filemode|ignorecase|excludesfile|abbrev|safecrlf|symlinks|whitespace|commentchar|precomposeunicode|untrackedcache|bare|logallrefupdates|repositoryformatversion)|safe\.directory|protocol\.version|submodule\.(?:recurse|fetchjobs)|index\.\w+|feature\.\w+|gc\.\w+|help\.autocorrect|column\.\w+|grep\.\w+|format\.\w+|rerere\.\w+|alias\.\w+|url\.[^=]+\.insteadof|lfs\.\w+|maintenance\.\w+|pack\.\w+|transfer\.\w+|worktree\.\w+|stash\.\w+|interactive\.singlekey|blame\.\w+|apply\.\w+|am\.\w+|clean\.requireforce|checkout\.\w+|clone\.\w+|extensions\.\w+|i18n\.\w+|versionsort\.\w+|uploadpack\.allow\w+)$/i;

export const isProgramConfig = (key: string): boolean => PROGRAMS.test(key);
export const isHarmlessConfig = (key: string): boolean => HARMLESS.test(key);
