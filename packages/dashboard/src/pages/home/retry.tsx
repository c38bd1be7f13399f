/** Starts a failed run once more, and shows the new one. */
import type { Run } from '@talaria/client';
import { retryRun } from '../../api/start-run.ts';
import { navigate } from '../../navigation/router.ts';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';

export function Retry({ run, name }: { run: Run; name: string }) {
  const action = useAction();
  const retry = () => action.run(async (client) => navigate(`runs/${await retryRun(client, run)}`));
  return (
    <>
      <button
        type="button"
        class="small"
        title="Start another run with the same prompt"
        disabled={action.busy.value}
        onClick={() => void retry()}
      >
        Retry<span class="visually-hidden"> {name}</span>
      </button>
      {action.error.value !== undefined && <Problem error={action.error.value} />}
    </>
  );
}
