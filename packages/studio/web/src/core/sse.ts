// Server-sent events (HTML, "Server-sent events") read from a `fetch`: an EventSource sends no header.

export interface ServerEvent {
  id: string;
  name: string;
  data: string;
}

/** Reads a stream piece by piece; a piece may be cut anywhere, also inside of a character. */
export class EventReader {
  private readonly decoder = new TextDecoder();
  private rest = "";
  private id = "";
  private name = "";
  private data: string[] = [];

  /** The events that this piece completes. */
  read(piece: Uint8Array): ServerEvent[] {
    this.rest += this.decoder.decode(piece, { stream: true });
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") {
      const made = this.data.length ? [{ id: this.id, name: this.name || "message", data: this.data.join("\n") }] : [];
      this.name = "";
      this.data = [];
      return made;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.name = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    return [];
  }
}

/** The events of an answer, until its end. */
export async function* events(answer: Response): AsyncGenerator<ServerEvent> {
  if (!answer.body) return;
  const reader = new EventReader();
  const source = answer.body.getReader();
  try {
    for (;;) {
      const { done, value } = await source.read();
      if (done) return;
      yield* reader.read(value);
    }
  } finally {
    await source.cancel().catch(() => undefined); // the connection may be gone already
  }
}
