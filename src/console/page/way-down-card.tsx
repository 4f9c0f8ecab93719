// Where the devices go that still run a release which was rolled back.

import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseName } from '../api/call.ts';
import { Card } from '../part/card.tsx';
import { ServingEffect, useServingRehearsal } from '../part/rehearsal.tsx';
import { useMay } from '../session/use-session.ts';

/** Card with the way down of a rolled-back release: how many devices are still on it, and where they go. */
export function WayDownCard(props: {
  name: ReleaseName;
  devices: RenderedReleaseDetail['devices'];
}) {
  const { name, devices } = props;
  // Only those who may steer can ask what would become of the devices.
  const maySteer = useMay('publisher');
  const isAsking = maySteer && devices.on > 0;
  const rehearsal = useServingRehearsal(
    // The number is asked with it, so that it is asked again whenever a device has left.
    isAsking ? { ...name, status: 'rolled_back' } : undefined,
    devices.on,
  );
  return (
    <Card title="The way down">
      {devices.on === 0 ? (
        <p>No device runs it any more.</p>
      ) : isAsking ? (
        <ServingEffect rehearsal={rehearsal} isAboutRunners />
      ) : (
        <p>{devices.on} devices still run it, and are sent down as they ask.</p>
      )}
    </Card>
  );
}
