// Overview of an organization: what needs attention, its apps with what each channel serves, and the dialog
// for a new app.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { FormDialog } from '../form/dialog.tsx';
import { Field } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Empty } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { AttentionStrip } from './attention-strip.tsx';
import { ChannelTable } from './channel-table.tsx';

const REFRESH_MS = 5000;

/** Page with the list of apps, or the first step if there is none. */
export function AppsPage() {
  useTitle('Apps');
  const organization = useOrganization();
  const mayCreate = useMay('owner');
  const [isCreating, setCreating] = useState(false);
  const apps = useLoad(`apps${queryText({ org: organization.id })}`, REFRESH_MS);
  const create = mayCreate ? (
    <button type="button" class="button primary" onClick={() => setCreating(true)}>
      Create app
    </button>
  ) : undefined;
  return (
    <>
      <PageHead title="Apps" actions={apps.data?.apps.length ? create : undefined} />
      {apps.data !== undefined && apps.data.apps.length > 0 && <AttentionStrip />}
      <LoadedView of={apps}>
        {(found) =>
          found.apps.length === 0 ? (
            <Empty title="No apps yet" action={create}>
              An app is what your devices ask updates for.{' '}
              {mayCreate
                ? 'Create it, create a key in Settings, publish.'
                : 'An owner can create one.'}
            </Empty>
          ) : (
            <AppCards apps={found.apps} />
          )
        }
      </LoadedView>
      <AsOf of={apps} />
      {isCreating && (
        <NewAppDialog organizationId={organization.id} onClose={() => setCreating(false)} />
      )}
    </>
  );
}

/** Number of apps above which the page has a filter by name. */
const FILTER_FROM = 8;

function AppCards({ apps }: { apps: readonly AppOverview[] }) {
  const [text, setText] = useState('');
  const [isWhole, setWhole] = useState(false);
  const wanted = text.trim().toLowerCase();
  const archived = apps.filter(({ archivedAt }) => archivedAt !== null).length;
  const found = apps
    .filter(({ archivedAt }) => isWhole || archivedAt === null)
    .filter(({ ref, name }) => `${ref} ${name}`.toLowerCase().includes(wanted));
  return (
    <>
      {apps.length > FILTER_FROM && (
        <div class="filters bare">
          <Field label="Name or ref contains" type="search" value={text} onInput={setText} />
        </div>
      )}
      {found.map((app) => (
        <AppCard key={app.id} app={app} />
      ))}
      {found.length === 0 && wanted !== '' && <Empty title="No app has this in its name or ref" />}
      {archived > 0 && (
        <p>
          <button
            type="button"
            class="link"
            aria-expanded={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? 'Hide archived apps' : `Show ${countText(archived, 'archived app')}`}
          </button>
        </p>
      )}
    </>
  );
}

function AppCard({ app }: { app: AppOverview }) {
  return (
    <article class="card flush app" aria-label={app.name}>
      <header class="card-head row apart">
        <div class="app-name row">
          <h2>
            <a href={consolePath.app(app.ref)}>
              <Name text={app.name} />
            </a>
          </h2>
          <Name text={app.ref} isCode />
          {app.archivedAt !== null && <Badge tone="quiet">Archived</Badge>}
        </div>
        <a class="app-fleet muted" href={consolePath.fleet(app.ref)} title="Show the fleet">
          <strong>{numberText(app.devicesDay)}</strong> in the last day
        </a>
      </header>
      <ChannelTable app={app} />
    </article>
  );
}

/** Dialog for a new app; opens the app after creating it. */
function NewAppDialog(props: { organizationId: string; onClose: () => void }) {
  const { organizationId, onClose } = props;
  const { route } = useLocation();
  const { values, field } = useFields({ name: '', channels: 'stable, beta' });
  const { name } = values;
  const [ownRef, setOwnRef] = useState<string>();
  const ref = ownRef ?? refFrom(name);
  const create = async () => {
    const channels = values.channels.split(/[\s,]+/).filter((channel) => channel !== '');
    await call('POST', 'apps', { org: organizationId, ref, name, channels });
    route(consolePath.app(ref));
  };
  return (
    <FormDialog title="Create an app" verb="Create app" onSend={create} onClose={onClose}>
      <Field label="Name" isRequired isFocused {...field('name')} />
      <Field
        name="ref"
        label="Ref"
        value={ref}
        onInput={setOwnRef}
        hint="Part of the address devices ask. It cannot be changed later."
        isRequired
        isCode
      />
      <Field
        label="Channels"
        hint="Separated by commas; more can be added later."
        isRequired
        isCode
        {...field('channels')}
      />
    </FormDialog>
  );
}

/** Suggests a ref: the name, reduced to the characters that a ref may contain. */
function refFrom(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64);
}
