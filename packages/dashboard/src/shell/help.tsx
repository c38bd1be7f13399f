/** The shortcuts. */

import { hide } from '../navigation/overlays.ts';
import { Dialog } from '../ui/dialog.tsx';
import { SHORTCUTS } from './keyboard.ts';

export function Help() {
  return (
    <Dialog title="Keyboard" onClose={hide}>
      <dl class="shortcuts">
        {SHORTCUTS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
