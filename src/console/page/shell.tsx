// Frame of every page: navigation, search, organization, account, and the notice of an outage.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Found } from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import { call, connection } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { useAction, useAsked } from '../hook/use-action.ts';
import { forgetLoaded } from '../hook/use-load.ts';
import { StatusBadge } from '../part/badge.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Menu } from '../part/menu.tsx';
import { Name } from '../part/name.tsx';
import { Notice } from '../part/notice.tsx';
import { Logo } from '../part/page-head.tsx';
import { ThemeSwitch } from '../part/theme.tsx';
import { useOrganization, useSession } from '../session/use-session.ts';
import { WaitingCount } from './approvals-page.tsx';

const PLACES = [
  { label: 'Apps', path: consolePath.apps, below: '/console/apps' },
  { label: 'Approvals', path: consolePath.approvals, below: '/console/approvals' },
  { label: 'Audit', path: consolePath.audit, below: '/console/audit' },
  { label: 'Settings', path: consolePath.settings(), below: '/console/settings' },
] as const;

export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const { refresh, membership } = useSession();
  const mayAsk = membership !== undefined && !membership.needsSecondFactor;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <header class="top">
        <a class="top-home" href={consolePath.apps}>
          <Logo />
        </a>
        <nav aria-label="Console">
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
        <div class="top-end">
          {membership !== undefined && <Search />}
          <OrganizationSwitch />
          <ThemeSwitch />
          <AccountMenu />
        </div>
      </header>
      <main id="content" class="content" tabIndex={-1}>
        <ConnectionNotice onRetry={() => void refresh()} />
        {children}
      </main>
    </>
  );
}

/** Name of the organization; a select for members of several. */
function OrganizationSwitch() {
  const { membership, memberships, choose } = useSession();
  const { route } = useLocation();
  if (membership === undefined) return null;
  if (memberships.length === 1) {
    return (
      <bdi class="organization" title="Your organization">
        {membership.organization.name}
      </bdi>
    );
  }
  return (
    <select
      class="organization"
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

/** Account menu. */
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

/** Button that opens the search; the key `/` does the same unless the reader is typing. */
function Search() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener('keydown', open);
    return () => document.removeEventListener('keydown', open);
  }, []);
  return (
    <>
      <button
        type="button"
        class="button plain small"
        aria-label="Search"
        aria-keyshortcuts="/"
        onClick={() => setOpen(true)}
      >
        Search <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select');
}

function SearchDialog({ onClose }: { onClose: () => void }) {
  const { id: org } = useOrganization();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const wanted = text.trim();
  const question = wanted === '' ? undefined : JSON.stringify({ org, text: wanted });
  const { said, error } = useAsked(question, search);
  const hits = said === undefined ? [] : hitsOf(said);
  const openFirst = () => {
    const [first] = hits;
    if (first === undefined) return;
    onClose();
    route(first.href);
  };
  return (
    <Dialog title="Search" isDisposable onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          openFirst();
        }}
      >
        <Field
          label="App, version or device id"
          value={text}
          onInput={setText}
          maxLength={LIMIT.searchLengthMax}
          hint="Versions and device ids are found by how they begin. Enter opens the first."
          isFocused
        />
      </form>
      <div role="status" class="unseen">
        {said !== undefined && `${hits.length} found`}
      </div>
      <ul class="found" aria-label="Found">
        {hits.map(({ href, kind, name, detail }) => (
          <li key={href}>
            <a class="menu-item" href={href} onClick={onClose}>
              <span class="muted">{kind}</span> <Name text={name} isCode={kind !== 'App'} />{' '}
              {detail}
            </a>
          </li>
        ))}
        {said !== undefined && hits.length === 0 && <li class="muted">Nothing was found.</li>}
        {error !== undefined && <li class="bad-text">{error}</li>}
      </ul>
    </Dialog>
  );
}

function search(question: object): Promise<Found> {
  return call('GET', `search${queryText({ ...question })}`);
}

function hitsOf({ apps, releases, devices }: Found) {
  return [
    ...apps.map(({ ref, name }) => ({
      ...{ href: consolePath.app(ref), kind: 'App', name },
      detail: <Name text={ref} isCode />,
    })),
    ...releases.map(({ app, channel, version, status }) => ({
      ...{ href: consolePath.release(app, channel, version), kind: 'Release', name: version },
      detail: (
        <>
          <span class="muted">
            {app} · {channel}
          </span>{' '}
          <StatusBadge status={status} />
        </>
      ),
    })),
    ...devices.map(({ app, deviceId }) => ({
      ...{ href: consolePath.device(app, deviceId), kind: 'Device', name: deviceId },
      detail: <span class="muted">{app}</span>,
    })),
  ];
}

/** Notice during an outage; `onRetry` sends any request. */
function ConnectionNotice({ onRetry }: { onRetry: () => void }) {
  const [outage, setOutage] = useState(connection.outage);
  useEffect(() => connection.onChange(() => setOutage(connection.outage())), []);
  if (outage === undefined) return null;
  return (
    <Notice tone="bad">
      {outage}{' '}
      <button type="button" class="link" onClick={onRetry}>
        Try again
      </button>
    </Notice>
  );
}
