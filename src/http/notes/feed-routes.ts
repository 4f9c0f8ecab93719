// Written appcasts, kept as long as what they are of: a candidate of a catalog, or a plan that offers
// nothing.
//
// Notes are rendered beside the serving thread, once for each candidate. A check that comes first waits for
// that, but not long: whatever keeps the thread busy, an update must not depend on its notes. Until they are
// rendered, the appcast is the same without them.

import { Unavailable } from '../../contract/unavailable.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Appcast, AppcastDocuments } from '../../updater/sparkle.ts';
import { writeAppcast } from './appcast.ts';
import type { NotesRenderer } from './notes-renderer.ts';

type Written = {
  /** The whole appcast, once it is written. */
  document: Buffer | undefined;
  /** The appcast without notes, once a check was answered with it. */
  plain: Buffer | undefined;
  /** Ends when the appcast is written, or cannot be at present; undefined while nothing writes it. */
  writing: Promise<void> | undefined;
};

/** Time that a check waits for notes: most take some milliseconds, the first ones the start of the thread. */
const WAIT_MS_MAX = 2000;

export class RenderedAppcasts implements AppcastDocuments {
  private readonly renderer: Pick<NotesRenderer, 'appcast'>;
  private readonly address: () => string;
  private readonly metrics: Pick<Metrics, 'faults'>;
  private readonly known = new WeakMap<object, Written>();

  /** `address` returns the base URL of the service, without a slash at its end. */
  constructor(
    renderer: Pick<NotesRenderer, 'appcast'>,
    address: () => string,
    metrics: Pick<Metrics, 'faults'>,
  ) {
    this.renderer = renderer;
    this.address = address;
    this.metrics = metrics;
  }

  ready(of: object, describe: () => Appcast): Promise<void> | undefined {
    const written = this.writtenOf(of);
    if (written.document !== undefined) return undefined;
    if (written.writing === undefined) {
      const appcast = describe();
      if (appcast.item === undefined || appcast.item.release.notes === '') return undefined;
      written.writing = this.write(written, appcast);
    }
    // Once a check was answered without the notes, no other one is kept waiting for them.
    return written.plain === undefined ? withinTime(written.writing, WAIT_MS_MAX) : undefined;
  }

  document(of: object, describe: () => Appcast): Buffer {
    const written = this.writtenOf(of);
    const known = written.document ?? written.plain;
    if (known !== undefined) return known;
    const appcast = describe();
    const bytes = Buffer.from(writeAppcast(appcast, this.address(), undefined), 'utf8');
    const hasNotes = appcast.item !== undefined && appcast.item.release.notes !== '';
    if (hasNotes) written.plain = bytes;
    else written.document = bytes;
    return bytes;
  }

  private writtenOf(of: object): Written {
    const known = this.known.get(of);
    if (known !== undefined) return known;
    const written: Written = { document: undefined, plain: undefined, writing: undefined };
    this.known.set(of, written);
    return written;
  }

  private async write(written: Written, appcast: Appcast): Promise<void> {
    try {
      written.document = await this.renderer.appcast(appcast, this.address());
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.metrics.faults.add('notes');
    } finally {
      // Where it could not be written, the next check tries again.
      written.writing = undefined;
    }
  }
}
