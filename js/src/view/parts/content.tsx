/** A content block of an agent's message or tool (ACP `ContentBlock`): picture, sound, file, link. */
import { Fold } from "../fold";
import { Icon } from "../icons";
import { audioSource, imageSource, safeHref } from "../links";
import { Markdown } from "../markdown/markdown";
import { bytes, line, pretty } from "../plain";
import { OutputBox } from "./terminal";
import { refOf, Whole } from "./whole";

type Block = Record<string, unknown>;

export function Content({ id, block }: { id: string; block: Block }) {
  switch (block.type) {
    case "text":
      return <Markdown text={String(block.text ?? "")} />;
    case "image":
      return <Picture block={block} />;
    case "audio":
      return <Sound block={block} />;
    case "resource":
      return <Resource id={id} resource={(block.resource ?? {}) as Block} />;
    case "resource_link":
      return <ResourceLink block={block} />;
    default:
      return <Raw id={id} name={line(block.type ?? "content", 60)} payload={block} />;
  }
}

function Picture({ block }: { block: Block }) {
  const chip = `Picture (${line(block.mimeType ?? "unknown type", 40)})`;
  const alt = safeText(block.uri) || "Picture from the agent";
  return (
    <Whole of={block} field="data" atOnce>
      {(data) => <Image source={imageSource(block.mimeType, data)} alt={alt} chip={chip} note={safeText(block.uri)} />}
    </Whole>
  );
}

interface ImageProps {
  source: string | undefined;
  alt: string;
  /** The name shown instead if the picture cannot be shown. */
  chip: string;
  note?: string | undefined;
}

function Image({ source, alt, chip, note }: ImageProps) {
  return source ? <img class="picture" src={source} alt={alt} /> : <Chip name={chip} note={note} />;
}

function Sound({ block }: { block: Block }) {
  const draw = (data: string | undefined) => {
    const source = audioSource(block.mimeType, data);
    if (!source) return <Chip name="Sound" note={line(block.mimeType ?? "", 40)} />;
    // biome-ignore lint/a11y/useMediaCaption: an agent sends no captions
    return <audio class="sound" controls preload="none" src={source} />;
  };
  return (
    <Whole of={block} field="data">
      {draw}
    </Whole>
  );
}

function Resource({ id, resource }: { id: string; resource: Block }) {
  const name = line(resource.uri ?? "Resource", 200);
  if (typeof resource.text === "string") {
    return (
      <Fold id={`${id} resource`} className="resource" head={<Name icon="file" text={name} />}>
        <Whole of={resource} field="text">
          {(text = "") => <OutputBox text={text} />}
        </Whole>
      </Fold>
    );
  }
  const { mimeType, blob } = resource;
  const size = refOf(resource, "blob")?.size ?? (typeof blob === "string" ? blob.length : undefined);
  const note = [line(mimeType ?? "", 60), size === undefined ? "" : bytes((size * 3) / 4)].filter(Boolean).join(" · ");
  // Bytes that must be fetched: only pictures are useful here.
  if (refOf(resource, "blob") && imageSource(mimeType, "AAAA"))
    return (
      <Whole of={resource} field="blob" atOnce>
        {(data) => <Image source={imageSource(mimeType, data)} alt={name} chip={name} />}
      </Whole>
    );
  return <Image source={imageSource(mimeType, blob)} alt={name} chip={name} note={note} />;
}

function ResourceLink({ block }: { block: Block }) {
  const href = safeHref(block.uri);
  const name = safeText(block.title) || safeText(block.name) || safeText(block.uri) || "Resource";
  const size = typeof block.size === "number" ? bytes(block.size) : "";
  const note = [safeText(block.description), size].filter(Boolean).join(" · ");
  return <Chip name={name} note={note} href={href} title={safeText(block.uri)} />;
}

interface ChipProps {
  name: string;
  note?: string | undefined;
  href?: string | undefined;
  title?: string;
}

function Chip({ name, note, href, title }: ChipProps) {
  const inner = (
    <>
      <Icon name={href ? "link" : "file"} />
      <span>{name}</span>
      {note && <span class="chip-note">{note}</span>}
    </>
  );
  return href ? (
    <a class="content-chip" href={href} title={title} target="_blank" rel="noopener noreferrer nofollow">
      {inner}
    </a>
  ) : (
    <span class="content-chip" title={title}>
      {inner}
    </span>
  );
}

/** Shows as JSON anything that this version cannot show better. */
export function Raw({ id, name, payload }: { id: string; name: string; payload: unknown }) {
  return (
    <Fold id={`${id} raw`} className="raw" head={<Name icon="info" text={name} />}>
      <OutputBox text={pretty(payload)} />
    </Fold>
  );
}

function Name({ icon, text }: { icon: "file" | "info"; text: string }) {
  return (
    <>
      <Icon name={icon} />
      <span class="path">{text}</span>
    </>
  );
}

function safeText(value: unknown): string {
  return typeof value === "string" ? line(value, 300) : "";
}
