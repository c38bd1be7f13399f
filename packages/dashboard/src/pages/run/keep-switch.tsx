/** Keeps the run, or takes that back. It shows what was asked for before the run says so. */
import { useSignal } from '@preact/signals';
import type { Run } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { client } from '../../api/session.ts';
import { useRunView } from './run-view.ts';

interface KeepSwitchProps {
  run: Run;
  /** Does it, and shows what went wrong. */
  act: (action: () => Promise<void>) => Promise<void>;
}

export function KeepSwitch({ run, act }: KeepSwitchProps) {
  const { watched } = useRunView();
  const asked = useSignal<boolean | undefined>(undefined);
  useEffect(() => {
    asked.value = undefined;
  }, [run.keep]);
  const isKept = asked.value ?? run.keep === true;
  const toggle = async () => {
    asked.value = !isKept;
    try {
      await client.peek().runs.keep(run.run_id, !isKept);
    } catch (failure) {
      asked.value = undefined;
      throw failure;
    }
    watched.refresh();
  };
  return (
    <label class="keep" title="The server deletes other runs some time after their ends">
      <input
        type="checkbox"
        role="switch"
        checked={isKept}
        aria-checked={isKept}
        onChange={() => void act(toggle)}
      />
      Keep
    </label>
  );
}
