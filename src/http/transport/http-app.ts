// Interface of an HTTP server for this room: requests, responses, and the application that serves them. It is
// the part of uWebSockets.js that the room uses. A request is valid until its handler returns, a response
// until it is ended or its client has disconnected.

export type HttpRequest = {
  /** Returns the method in lower case. */
  getMethod(): string;
  /** Returns the path as sent, without the query. */
  getUrl(): string;
  /** Returns the query as sent, without `?`; undefined if there is none. */
  getQuery(): string | undefined;
  /** Returns the decoded value of a parameter of the query; undefined if there is none. */
  getQuery(key: string): string | undefined;
  /** Returns the first header of this name, one character per byte; '' if there is none. */
  getHeader(lowerCaseName: string): string;
  /** Calls `tell` for every header, in the order sent: names in lower case, values decoded as UTF-8. */
  forEach(tell: (name: string, value: string) => void): void;
  /** With true, passes the request on to the handler of all other requests (`any`). */
  setYield(isYielded: boolean): unknown;
};

export type HttpResponse = {
  /** Begins the head: the status and its reason; the text may also contain header lines (`ReplyHead`). */
  writeStatus(text: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** Writes the body with its `Content-Length`, and ends; `closesConnection` adds `Connection: close`. */
  end(body?: string | Uint8Array, closesConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  /** Writes a chunk of a body of `bytes`; returns whether all was accepted, and whether it was the last. */
  tryEnd(chunk: Uint8Array, bytes: number): [isTaken: boolean, isDone: boolean];
  /** Writes a chunk of a body without a known length; returns whether the socket accepted all of it. */
  write(chunk: string): boolean;
  /** Combines all that `write` writes into one write to the socket. */
  cork(write: () => void): unknown;
  /** Closes the connection at once. */
  close(): unknown;
  /** Sets the listener that is called when the connection closes before the response is ended. */
  onAborted(listener: () => void): unknown;
  /** Sets the listener of the body. A chunk is valid during the call. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  /** Sets the listener that is called when the socket accepts more. */
  onWritable(listener: (offset: number) => boolean): unknown;
  /** Returns the number of bytes of the body that the socket has accepted. */
  getWriteOffset(): number;
  getRemoteAddressAsText(): ArrayBuffer | string;
  /**
   * Returns the number of bytes that the server buffers because the client does not read them; absent if the
   * server bounds them itself.
   */
  getBufferedAmount?(): number;
  /**
   * True if the server itself bounds what it buffers for a client that does not read, and reads no further
   * request after a response that closes its connection.
   */
  readonly guardsConnection?: boolean;
};

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void;

export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of this service listen on the port as well. */
  readonly isPortShared: boolean;
};

/** Socket that accepts connections. */
export type Listening = {
  /** Port of the socket; the chosen one if port 0 was requested. */
  readonly port: number;
  /** Stops accepting connections; open connections stay. To be called once. */
  stop(): void;
};

export type HttpApp = {
  /** Serves GET requests whose path matches a pattern such as `/u/*`; the first match counts. */
  get(pattern: string, handler: RequestHandler): unknown;
  head(pattern: string, handler: RequestHandler): unknown;
  any(pattern: string, handler: RequestHandler): unknown;
  /** Sets the listener that is called with 1 when a connection opens, and with -1 when it closes. */
  filter(listener: (connection: Pick<HttpResponse, 'close'>, change: number) => void): unknown;
  /** Sets the listener for errors of connections that could not be accepted. */
  onAcceptFault(listener: (error: Error) => void): unknown;
  /** Rejects, with the reason in words, if the address is in use or cannot be used. */
  listen(options: ListenOptions): Promise<Listening>;
  /** Stops listening and closes every connection. */
  close(): unknown;
};
