// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not template strings
/**
 * Commands that ask because nobody can tell what they would do, next to commands of the same programs that do not ask.
 */
import { NEVER } from '../../families.ts';
import { allow, ask, never, type Row } from './table.ts';

export const CLOSED_WORLD: Row[] = [
  ...never(NEVER.wipe, [
    'env - rm -rf /',
    '/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /',
    'choom -n 0 -- rm -rf /',
    'i386 rm -rf /',
    "sg root -c 'rm -rf /'",
    'toybox rm -rf /',
    'unshare -r nice -n 5 timeout 5 busybox rm -rf /',
  ]),
  ...ask(['unknown program'], ['frobnicate --all', '/usr/bin/frobnicate', "'rm -rf x'"]),
  ...ask(
    ['unknown option or argument'],
    ['cp --frobnicate a b', 'git frobnicate', 'docker run --privileged x'],
  ),
  ...ask(
    ['program or code as an argument'],
    [
      "git -c core.fsmonitor='./x' status",
      "ssh -o ProxyCommand='./x' host",
      "split --filter='cat > $FILE' f",
      'gcc -wrapper ./x x.c',
      'rg --pre ./x foo',
      'echo x > .git/hooks/pre-commit',
    ],
  ),
  ...ask(
    ['variable that changes what runs'],
    ['LD_PRELOAD=./x.so ls', 'BASH_ENV=x bash -c ls', "PS4='$x' ls", 'PATH=. ls', 'export PROMPT_COMMAND=ls'],
  ),
  ...ask(
    ['text evaluated again'],
    ["x='a[$(ls)]'; echo $((x))", "[[ -v 'a[$(ls)]' ]]", 'echo "${x@P}"', 'eval "$X"', 'declare -n r=x'],
  ),
  ...ask(['network connection by the shell'], ['exec 5<>/dev/tcp/example.com/80', 'echo x > /dev/udp/h/53']),
  ...ask(['write outside the workspace'], ['cp x /usr/local/bin/x', 'echo x > /opt/x', 'sort -o /srv/x f']),
  ...ask(
    ['delete of shared resources'],
    ['kubectl delete pod x', 'terraform destroy', 'aws s3 rm s3://b/x', 'docker volume rm x'],
  ),
  ...allow([
    'awk \'BEGIN{FS="|"}{print $2}\' f',
    'systemctl restart --help',
    'apt remove --dry-run nginx',
    'bash -n script.sh',
    '$(npm bin)/eslint .',
    './run_tests.sh --all',
    'python3 app.py',
    'make',
    'env A=1 npm test',
    'tar -I zstd -cf a.tar.zst src',
    'GIT_EDITOR=true git rebase --continue',
    'export PATH="$HOME/bin:$PATH"',
    'git -c user.name=x commit -m y',
    'kubectl delete --help',
    'docker volume ls',
  ]),
];
