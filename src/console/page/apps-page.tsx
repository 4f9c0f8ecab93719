// Apps of an organization: the newest release per channel, rollouts in progress, and devices seen.

import { useState } from 'preact/hooks';
import type { AppOverview } from '../../contract/console.ts';
import { queryText } from '../format/console-path.ts';
import { countText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Empty } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { LoadedView } from '../part/notice.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { AppCard } from './app-card.tsx';
import { NewAppDialog } from './new-app-dialog.tsx';

const REFRESH_MS = 5000;

/** Page with the list of apps, or the first step when there is none. */
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
      <PageHead title="Apps" actions={apps.data?.apps.length === 0 ? undefined : create} />
      <LoadedView of={apps}>
        {(found) =>
          found.apps.length === 0 ? (
            <Empty title="No apps yet">
              <p class="hint">
                An app is what your devices ask updates for.{' '}
                {mayCreate
                  ? 'Create it, mint a key in Settings, publish.'
                  : 'An owner can create one.'}
              </p>
              {create}
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

/** Number of apps above which they can be narrowed down by their name. */
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
      <div class="apps">
        {found.map((app) => (
          <AppCard key={app.id} app={app} />
        ))}
      </div>
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
