// The client of examples/cached-updates, as its users have it: a file that is loaded as it stands.

const FILE = new URL('../../examples/cached-updates/slice.mjs', import.meta.url);

type Asked = {
  readonly app: string;
  readonly channel: string;
  readonly platform: string;
  readonly arch: string;
  readonly version: string;
  readonly deviceId: string;
};

type SliceClient = {
  readonly sliceOf: (deviceId: string) => number;
  readonly checkForUpdate: (service: string, asked: Asked) => Promise<{ version: string } | null>;
};

/** Client of the example. */
export const { sliceOf, checkForUpdate } = (await import(FILE.href)) as SliceClient;
