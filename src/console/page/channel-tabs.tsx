// Tabs of an app's channels and of its fleet; of many channels the first ones and a menu of all.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AppOverview } from '../../contract/console.ts';
import { consolePath } from '../format/console-path.ts';
import { channelNames } from '../format/serving.ts';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Name } from '../part/name.tsx';

/** Number of channels above which not all have a tab. */
const TABS_MAX = 6;

/** Tabs; `channel` is the open one's, undefined is the fleet's. `children` stand at their end. */
export function ChannelTabs(props: {
  app: AppOverview;
  channel: string | undefined;
  children: ComponentChildren;
}) {
  const { app, channel, children } = props;
  const [isChoosing, setChoosing] = useState(false);
  const names = channelNames(app);
  const shown = tabsOf(names, channel);
  const tabs = useRef<HTMLElement>(null);
  // On a narrow screen the open one is in sight.
  useEffect(() => {
    const open = tabs.current?.querySelector('[aria-current]');
    open?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [channel]);
  return (
    <nav ref={tabs} class="tabs" aria-label="Channels and fleet">
      {shown.map((name) => (
        <a
          key={name}
          href={consolePath.channel(app.ref, name)}
          aria-current={name === channel ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
      {shown.length < names.length && (
        <button type="button" class="tab-more" onClick={() => setChoosing(true)}>
          All {names.length} channels…
        </button>
      )}
      <a
        href={consolePath.fleet(app.ref)}
        aria-current={channel === undefined ? 'page' : undefined}
      >
        Fleet
      </a>
      {children}
      {isChoosing && <ChannelMenu app={app.ref} names={names} onClose={() => setChoosing(false)} />}
    </nav>
  );
}

/** Returns the channels with a tab: all of a few; else the first ones and the open one. */
function tabsOf(names: readonly string[], open: string | undefined): readonly string[] {
  if (names.length <= TABS_MAX) return names;
  const first = names.slice(0, TABS_MAX - 1);
  return open === undefined || first.includes(open) || !names.includes(open)
    ? first
    : [...first, open];
}

function ChannelMenu(props: { app: string; names: readonly string[]; onClose: () => void }) {
  const { app, names, onClose } = props;
  const [text, setText] = useState('');
  const found = names.filter((name) => name.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <Dialog title="Channels" isDisposable onClose={onClose}>
      <Field label="Name contains" value={text} onInput={setText} isFocused />
      <ul class="found" aria-label="Channels found">
        {found.map((name) => (
          <li key={name}>
            <a class="menu-item" href={consolePath.channel(app, name)} onClick={onClose}>
              <Name text={name} />
            </a>
          </li>
        ))}
        {found.length === 0 && <li class="muted">No channel has this in its name.</li>}
      </ul>
    </Dialog>
  );
}
