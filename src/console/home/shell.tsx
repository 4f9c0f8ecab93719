// Frame of every page: navigation, search, help, organization, account, and notices: of an outage, of a store
// that is unavailable or refuses writes, and of a change of the reader's role.

import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { call, connection, readDegraded } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { FaultNotice, Notice } from '../form/notice.tsx';
import { consolePath, MOUNT } from '../format/console-path.ts';
import { useKeptFocus } from '../hook/focus.ts';
import { useAction } from '../hook/use-action.ts';
import { forgetLoaded, useRepetition } from '../hook/use-load.ts';
import { Menu } from '../part/menu.tsx';
import { Logo } from '../part/page-head.tsx';
import { ThemeSwitch } from '../part/theme.tsx';
import { useSession } from '../session/use-session.ts';
import { KEYS, useKey } from './keys.tsx';
import { Search } from './search.tsx';
import { WaitingCount } from './waiting-count.tsx';

const PLACES = [
  { label: 'Apps', path: consolePath.apps, below: consolePath.apps },
  { label: 'Approvals', path: consolePath.approvals, below: consolePath.approvals },
  { label: 'Audit', path: consolePath.audit, below: consolePath.audit },
  { label: 'Settings', path: consolePath.settings(), below: consolePath.settings('') },
] as const;

export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const { refresh, membership } = useSession();
  const mayAsk = membership !== undefined && !membership.needsSecondFactor;
  useKeptFocus();
  return (
    <>
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <header class="top line">
        <a class="top-home" href={consolePath.apps}>
          <Logo />
        </a>
        <nav class="line tight" aria-label="Console">
          {PLACES.map((place) => (
            <a
              key={place.label}
              href={place.path}
              aria-current={path.startsWith(place.below) ? 'page' : undefined}
            >
              {place.label}
              {place.path === consolePath.approvals && mayAsk && (
                <WaitingCount key={membership.organization.id} path={path} />
              )}
            </a>
          ))}
        </nav>
        <div class="top-end line">
          {membership !== undefined && <Search />}
          <OrganizationSwitch />
          <HelpMenu />
          <ThemeSwitch />
          <AccountMenu />
        </div>
      </header>
      <main id="content" class="content" tabIndex={-1}>
        <ConnectionNotice onRetry={() => void refresh()} />
        <StoreNotice />
        <RoleNotice />
        {children}
      </main>
    </>
  );
}

/** Name of the organization; a select if the reader is a member of several. */
function OrganizationSwitch() {
  const { membership, memberships, choose } = useSession();
  const { route } = useLocation();
  if (membership === undefined) return null;
  if (memberships.length === 1) {
    return (
      <bdi
        class="organization cut muted"
        title={`Your organization: ${membership.organization.name}`}
      >
        {membership.organization.name}
      </bdi>
    );
  }
  return (
    <select
      class="organization cut muted"
      aria-label="Organization"
      value={membership.organization.id}
      onChange={(event) => {
        choose(event.currentTarget.value);
        route(consolePath.apps);
      }}
    >
      {memberships.map(({ organization }) => (
        <option key={organization.id} value={organization.id}>
          {organization.name}
        </option>
      ))}
    </select>
  );
}

function HelpMenu() {
  const [isOpen, setOpen] = useState(false);
  useKey('?', () => setOpen(true));
  return (
    <>
      <Menu label="Help" text="?" buttonClass="initial" isClosing>
        <a class="menu-item" href={consolePath.help}>
          Terms and signals
        </a>
        <a class="menu-item" href={`${MOUNT}/docs`} target="_blank" rel="noopener">
          Reference of the API
        </a>
        <button type="button" class="menu-item" onClick={() => setOpen(true)}>
          Keys <kbd>?</kbd>
        </button>
      </Menu>
      {isOpen && (
        <Dialog title="Keys" isDisposable onClose={() => setOpen(false)}>
          {KEYS}
        </Dialog>
      )}
    </>
  );
}

function AccountMenu() {
  const { account, membership, refresh } = useSession();
  const action = useAction();
  const signOut = async () => {
    await call('DELETE', 'session');
    forgetLoaded();
    await refresh();
  };
  return (
    <Menu label="Account" text={initialOf(account.name)} buttonClass="initial">
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
    </Menu>
  );
}

function initialOf(name: string): string {
  const [first = '?'] = name.trim();
  return first.toLocaleUpperCase();
}

/** Notice during an outage; `onRetry` sends any request. */
function ConnectionNotice({ onRetry }: { onRetry: () => void }) {
  const [outage, setOutage] = useState(connection.outage);
  useEffect(() => connection.onChange(() => setOutage(connection.outage())), []);
  return outage === undefined ? null : <FaultNotice fault={outage} onRetry={onRetry} />;
}

const DEGRADED_MS = 15_000;

/** Notice of the stores that are unavailable or refuse writes, in the words of the operator's log. */
function StoreNotice() {
  const [messages, setMessages] = useState<readonly string[]>([]);
  const load = useCallback(async () => setMessages(await readDegraded()), []);
  useEffect(() => void load(), [load]);
  useRepetition(load, DEGRADED_MS);
  return messages.map((message) => (
    <Notice key={message} tone="warn">
      {message}.
    </Notice>
  ));
}

/** Notice when the reader's role in the present organization was changed or taken away. */
function RoleNotice() {
  const { membership, memberships } = useSession();
  const known = useRef(membership);
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    const before = known.current;
    known.current = membership;
    if (before === undefined) return;
    const { id, name } = before.organization;
    const now = memberships.find(({ organization }) => organization.id === id);
    if (now === undefined) setSaid(`You are no member of ${name} any more.`);
    else if (now.role !== before.role) setSaid(`You are ${ROLE_WORDS[now.role]} of ${name} now.`);
  }, [membership, memberships]);
  if (said === undefined) return null;
  return (
    <Notice tone="bad">
      {said} Somebody changed that meanwhile; what you had open may be gone.{' '}
      <button type="button" class="link" onClick={() => setSaid(undefined)}>
        Hide
      </button>
    </Notice>
  );
}

const ROLE_WORDS = { owner: 'an owner', publisher: 'a publisher', viewer: 'a viewer' } as const;
