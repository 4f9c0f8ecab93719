// Head of an app's pages: its name, a tab per channel, and one for the fleet.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { Badge } from '../part/badge.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Name } from '../part/name.tsx';
import { Notice } from '../part/notice.tsx';
import { useMay } from '../session/use-session.ts';
import { ChannelTabs } from './channel-tabs.tsx';
import { EditApp } from './edit-app.tsx';

/** Tabs of an app. `channel` is the open tab's; undefined opens the fleet's tab. */
export function AppTabs(props: {
  app: AppOverview;
  channel: string | undefined;
  onChange: () => Promise<void>;
}) {
  const { app, channel, onChange } = props;
  const [isAdding, setAdding] = useState(false);
  const mayAdd = useMay('owner') && app.archivedAt === null;
  return (
    <div class="place">
      <p class="crumbs">
        <a href={consolePath.apps}>Apps</a>
        <span aria-hidden="true">/</span>
        <a href={consolePath.app(app.ref)}>
          <Name text={app.name} />
        </a>
        {app.archivedAt !== null && <Badge tone="quiet">Archived</Badge>}
        <EditApp app={app} onChange={onChange} />
      </p>
      {app.archivedAt !== null && (
        <Notice tone="warn">
          This app is archived: it takes no releases. Its devices are answered as before.
        </Notice>
      )}
      <ChannelTabs app={app} channel={channel}>
        {mayAdd && (
          <button type="button" class="tab-add" onClick={() => setAdding(true)}>
            Add channel
          </button>
        )}
      </ChannelTabs>
      {isAdding && <NewChannel app={app} onClose={() => setAdding(false)} onCreated={onChange} />}
    </div>
  );
}

function NewChannel(props: {
  app: AppOverview;
  onClose: () => void;
  onCreated: () => Promise<void>;
}) {
  const { app, onClose, onCreated } = props;
  const { route } = useLocation();
  const [name, setName] = useState('');
  const create = async () => {
    await call('POST', 'channels', { app: app.ref, name });
    await onCreated();
    onClose();
    route(consolePath.channel(app.ref, name));
  };
  return (
    <Dialog title="Add a channel" onClose={onClose}>
      <Form send="Add channel" onSend={create} onCancel={onClose}>
        <Field
          name="name"
          label="Name"
          value={name}
          onInput={setName}
          hint="Part of the address devices ask, such as beta or nightly. It cannot be changed later."
          isRequired
          isFocused
          isCode
        />
      </Form>
    </Dialog>
  );
}
