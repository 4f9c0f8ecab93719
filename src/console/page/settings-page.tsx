// Settings of the organization and of the account, each section with a path of its own.

import { consolePath } from '../format/console-path.ts';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AccountSettings } from './account-settings.tsx';
import { KeySettings } from './key-settings.tsx';
import { MemberSettings } from './member-settings.tsx';
import { NotFoundPage } from './not-found-page.tsx';
import { OrganizationSettings } from './organization-settings.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

const SECTIONS = [
  { name: 'keys', label: 'Keys', View: KeySettings },
  { name: 'webhooks', label: 'Webhooks', View: WebhookSettings },
  { name: 'members', label: 'Members', View: MemberSettings },
  { name: 'organization', label: 'Organization', View: OrganizationSettings },
  { name: 'account', label: 'Your account', View: AccountSettings },
] as const;

/** Settings page; `params.section` is the section in the path, the keys by default. */
export function SettingsPage({ params }: { params: { readonly section?: string } }) {
  const section = SECTIONS.find(({ name }) => name === (params.section ?? 'keys'));
  useTitle(section?.label, 'Settings');
  if (section === undefined) return <NotFoundPage />;
  const { View } = section;
  return (
    <>
      <PageHead title="Settings" />
      <nav class="tabs" aria-label="Settings">
        {SECTIONS.map(({ name, label }) => (
          <a
            key={name}
            href={consolePath.settings(name)}
            aria-current={name === section.name ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <View />
    </>
  );
}
