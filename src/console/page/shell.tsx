// Frame of every page: navigation, organization and account.

import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { consolePath } from '../format/console-path.ts';
import { ConnectionNotice } from '../part/connection-notice.tsx';
import { Logo } from '../part/page-head.tsx';
import { ThemeSwitch } from '../part/theme.tsx';
import { useSession } from '../session/use-session.ts';
import { AccountMenu } from './account-menu.tsx';
import { Search } from './search-dialog.tsx';

const PLACES = [
  { label: 'Apps', path: consolePath.apps, below: '/console/apps' },
  { label: 'Audit', path: consolePath.audit, below: '/console/audit' },
  { label: 'Settings', path: consolePath.settings(), below: '/console/settings' },
] as const;

/** Header with the page below it. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const { refresh, membership } = useSession();
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
