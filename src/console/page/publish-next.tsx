// Button that publishes the release after one that exists, with the same artifacts and targeting to begin
// with.

import { useState } from 'preact/hooks';
import type { AppOverview, RenderedReleaseDetail } from '../../contract/console.ts';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { useMay } from '../session/use-session.ts';
import { PublishDialog } from './publish-dialog.tsx';

/** Button for publishers, and its dialog. */
export function PublishNext(props: {
  app: AppOverview;
  channel: string;
  release: RenderedReleaseDetail['release'];
}) {
  const { app, channel, release } = props;
  const mayPublish = useMay('publisher') && app.archivedAt === null;
  const [isOpen, setOpen] = useState(false);
  const details = useLoad(isOpen ? `channel${queryText({ app: app.ref, channel })}` : null);
  // The dialog stays when the right ends meanwhile: the service says so to what is sent.
  if (!mayPublish && !isOpen) return null;
  return (
    <>
      <button type="button" class="button plain" onClick={() => setOpen(true)}>
        Publish next…
      </button>
      {isOpen && details.data !== undefined && (
        <PublishDialog
          app={app}
          channel={channel}
          defaultRollout={details.data.defaultRollout}
          from={release}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
