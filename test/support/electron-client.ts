// Runs the real electron-updater outside Electron: its own check, its own choice of a file. Only the parts
// that Electron provides are replaced: the app, the network, and the module `electron`.

import { EventEmitter } from 'node:events';
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';
import Module, { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  CancellationToken,
  configureRequestUrl,
  type DownloadOptions,
  HttpExecutor,
} from 'builder-util-runtime';
import type { AppUpdater } from 'electron-updater';
import { removeFolder, temporaryFolder } from './server-process.ts';

export type ElectronClientOptions = {
  /** `{service}/e/{app}/{channel}`. */
  readonly electronUrl: string;
  readonly type: 'nsis' | 'mac' | 'AppImage' | 'deb' | 'rpm' | 'pacman';
  /** Arch in Electron's words: x64, arm64, ia32, arm. */
  readonly arch: string;
  /** Version that the app runs. */
  readonly version: string;
  /** Headers that an app adds to identify its device. */
  readonly requestHeaders?: Record<string, string>;
  /** Version of the kernel, as `os.release()` gives it; by default this machine's. */
  readonly kernel?: string;
  /** Channel in app-update.yml, which builds whose own version is a prerelease have. */
  readonly channel?: string;
};

export type ElectronAnswer = {
  readonly isUpdateAvailable: boolean;
  readonly version: string;
  /** The file it would fetch; undefined when there is no update. */
  readonly file:
    | {
        readonly url: string;
        readonly sha512: string | undefined;
        readonly sha2: string | undefined;
      }
    | undefined;
};

type Updaters = Record<string, new (options: null, app: object) => AppUpdater>;
type FileInfo = {
  readonly url: URL;
  readonly info: { readonly sha512?: string; readonly sha2?: string };
};

/** Loader of Node.js, through which this file provides the module `electron`. */
const loader = Module as unknown as { _load(name: string, ...rest: unknown[]): unknown };
const UPDATERS = {
  nsis: ['NsisUpdater', 'win32'],
  mac: ['MacUpdater', 'darwin'],
  AppImage: ['AppImageUpdater', 'linux'],
  deb: ['DebUpdater', 'linux'],
  rpm: ['RpmUpdater', 'linux'],
  pacman: ['PacmanUpdater', 'linux'],
} as const;

class NodeExecutor extends HttpExecutor<ClientRequest> {
  override createRequest(
    options: RequestOptions,
    callback: (response: IncomingMessage) => void,
  ): ClientRequest {
    // Each request has a connection of its own, as every install of the app has one.
    return request({ ...options, agent: false }, callback);
  }

  /** Downloads a file in place of Electron's executor, which exists only inside Electron. */
  fetch(url: URL, destination: string, options: DownloadOptions): Promise<void> {
    const requestOptions: RequestOptions = {};
    configureRequestUrl(url, requestOptions);
    return new Promise((resolve, reject) => {
      // The callback gets no error when all went well, although its type demands one.
      const callback = (error?: Error | null) => (error ? reject(error) : resolve());
      const call = { destination, options, callback, onCancel: () => undefined };
      this.doDownload(requestOptions, { ...call, responseHandler: null }, 0);
    });
  }
}

/**
 * Starts an installed app once: it checks, and when there is an update returns the file that it would fetch.
 * Rejects with the client's own error. Calls with different `arch` must not overlap, because the client reads
 * `process.arch`.
 */
export async function runElectronClient(options: ElectronClientOptions): Promise<ElectronAnswer> {
  const present = Object.getOwnPropertyDescriptor(process, 'arch') as PropertyDescriptor;
  Object.defineProperty(process, 'arch', { ...present, value: options.arch });
  const directory = temporaryFolder('sluice-electron-');
  process.env.APPIMAGE = join(directory, 'app.AppImage');
  const restore = options.kernel === undefined ? undefined : replaceKernel(options.kernel);
  try {
    const updater = createUpdater(options, directory);
    const result = await updater.checkForUpdates();
    if (result === null) throw new Error('the updater is not active');
    const { isUpdateAvailable, updateInfo } = result;
    const file = isUpdateAvailable ? await chosenFile(updater) : undefined;
    return { isUpdateAvailable, version: updateInfo.version, file };
  } finally {
    restore?.();
    Object.defineProperty(process, 'arch', present);
    delete process.env.APPIMAGE;
    removeFolder(directory);
  }
}

/** Returns whether a client on this kernel takes an update with this `minimumSystemVersion`. */
export function isSupportedByElectron(minimumSystemVersion: string, kernel: string): boolean {
  const { prototype } = loadUpdaters().AppImageUpdater as unknown as { prototype: Support };
  const warnings: string[] = [];
  const self = { _logger: { info: () => undefined, warn: (text: string) => warnings.push(text) } };
  const restore = replaceKernel(kernel);
  try {
    const isSupported = prototype.checkIfUpdateSupported.call(self, { minimumSystemVersion });
    // A version that it cannot read is taken for any.
    if (warnings.length > 0) throw new Error(warnings.join());
    return isSupported;
  } finally {
    restore();
  }
}

type Support = { checkIfUpdateSupported(info: { minimumSystemVersion: string }): boolean };

/** Replaces the version of the kernel that Node.js tells; returns what undoes that. */
function replaceKernel(kernel: string): () => void {
  const os = createRequire(import.meta.url)('node:os') as { release: () => string };
  const { release } = os;
  os.release = () => kernel;
  return () => {
    os.release = release;
  };
}

/** Fetches a file with the client's own code, checksum and all; rejects with the client's own error. */
export function fetchAsElectron(
  { url, sha2, sha512 }: NonNullable<ElectronAnswer['file']>,
  destination: string,
): Promise<void> {
  return new NodeExecutor().fetch(new URL(url), destination, {
    cancellationToken: new CancellationToken(),
    ...(sha2 === undefined ? {} : { sha2 }),
    ...(sha512 === undefined ? {} : { sha512 }),
  });
}

function createUpdater(options: ElectronClientOptions, directory: string): AppUpdater {
  const { type, electronUrl, requestHeaders, channel } = options;
  const [className, platform] = UPDATERS[type];
  const app = {
    version: options.version,
    name: 'app',
    isPackaged: true,
    appUpdateConfigPath: join(directory, 'app-update.yml'),
    userDataPath: directory,
    baseCachePath: directory,
    whenReady: async () => undefined,
    relaunch: () => undefined,
    quit: () => undefined,
    onQuit: () => undefined,
  };
  const updater = new (loadUpdaters()[className] as Updaters[string])(null, app);
  Object.assign(updater, {
    httpExecutor: new NodeExecutor(),
    _testOnlyOptions: { platform },
    autoDownload: false,
    logger: null,
  });
  if (requestHeaders !== undefined) updater.requestHeaders = requestHeaders;
  updater.setFeedURL({
    provider: 'generic',
    url: electronUrl,
    ...(channel === undefined ? {} : { channel }),
  });
  return updater;
}

let updaters: Updaters | undefined;

function loadUpdaters(): Updaters {
  if (updaters !== undefined) return updaters;
  const load = loader._load;
  loader._load = (name, ...rest) =>
    name === 'electron' ? { autoUpdater: new EventEmitter() } : load(name, ...rest);
  updaters = createRequire(import.meta.url)('electron-updater') as Updaters;
  return updaters;
}

/** Returns the file that the client selects: the replaced method gets the file, and would fetch it. */
async function chosenFile(updater: AppUpdater): Promise<ElectronAnswer['file']> {
  let chosen: FileInfo | undefined;
  Object.assign(updater, {
    executeDownload: async ({ fileInfo }: { fileInfo: FileInfo }) => {
      chosen = fileInfo;
      return [];
    },
  });
  await updater.downloadUpdate();
  if (chosen === undefined) throw new Error('the updater chose no file');
  return { url: chosen.url.href, sha512: chosen.info.sha512, sha2: chosen.info.sha2 };
}
