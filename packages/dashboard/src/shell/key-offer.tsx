/** Asks whether to use the key of a link, where this browser has another one. */
import { acceptOffer, declineOffer } from '../api/session.ts';

export function KeyOffer() {
  return (
    <main class="sign-in">
      <h1>Talaria</h1>
      <form>
        <span role="alert">
          The link that you opened brings another API key than the one that this browser uses. With it this
          tab shows and starts runs of that key. If you did not expect this, keep your key.
        </span>
        <button type="button" class="primary" onClick={declineOffer}>
          Keep my key
        </button>
        <button type="button" onClick={acceptOffer}>
          Use the link's key in this tab
        </button>
      </form>
    </main>
  );
}
