// Menu of the signed-in account, with the sign-out button.

import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { useAction } from '../hook/use-action.ts';
import { forgetLoaded } from '../hook/use-load.ts';
import { useSession } from '../session/use-session.ts';

/** Disclosure that opens on click or Enter and closes when it loses the focus. */
export function AccountMenu() {
  const { account, membership, refresh } = useSession();
  const action = useAction();
  const signOut = async () => {
    await call('DELETE', 'session');
    forgetLoaded();
    await refresh();
  };
  return (
    <details
      class="menu"
      onFocusOut={(event) => {
        const next = event.relatedTarget;
        const isInside = next instanceof Node && event.currentTarget.contains(next);
        if (!isInside && next !== null) event.currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.open = false;
      }}
    >
      <summary aria-label="Account">{initialOf(account.name)}</summary>
      <div class="menu-body">
        <p>
          <strong>
            <bdi>{account.name}</bdi>
          </strong>
          <span class="muted">{account.email}</span>
          {membership !== undefined && <span class="muted">{membership.role}</span>}
        </p>
        <a class="menu-item" href={consolePath.settings('account')}>
          Password and sessions
        </a>
        <button
          type="button"
          class="menu-item"
          disabled={action.isBusy}
          onClick={() => void action.run(signOut)}
        >
          Sign out
        </button>
        {action.error !== undefined && <p role="alert">{action.error}</p>}
      </div>
    </details>
  );
}

function initialOf(name: string): string {
  const [first = '?'] = name.trim();
  return first.toLocaleUpperCase();
}
