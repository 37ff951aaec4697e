/** Checks the addresses that an agent may offer for a click, and the data that the page may show. */

const SCHEMES = new Set(["http:", "https:", "mailto:"]);
const IGNORED = /[\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g;

/** Returns `href` as it may be used in a link, or undefined if it must stay text. */
export function safeHref(href: unknown): string | undefined {
  if (typeof href !== "string" || href.length > 4096) return undefined;
  const address = href.trim().replaceAll(" ", "%20");
  const bare = address.replace(IGNORED, "");
  if (bare === "" || bare.includes("\\") || bare.startsWith("//")) return undefined;
  const scheme = /^[^/?#]*?:/.exec(bare)?.[0].toLowerCase();
  if (scheme === undefined) return bare === address ? address : undefined;
  // Without the slashes a browser may read `https:x` as a path on this very server.
  if (scheme.startsWith("http") && !/^https?:\/\/[^/]/i.test(address)) return undefined;
  return SCHEMES.has(scheme) ? address : undefined;
}

const IMAGE = /^image\/(png|jpe?g|gif|webp|avif|bmp)$/i;
const AUDIO = /^audio\/[a-z0-9.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

function dataUrl(kind: RegExp, mimeType: unknown, data: unknown): string | undefined {
  if (typeof mimeType !== "string" || typeof data !== "string") return undefined;
  if (data === "" || !kind.test(mimeType) || !BASE64.test(data)) return undefined;
  return `data:${mimeType.toLowerCase()};base64,${data}`;
}

/** Returns the source of a picture whose bytes the host sent; no vector images, since they are documents. */
export function imageSource(mimeType: unknown, data: unknown): string | undefined {
  return dataUrl(IMAGE, mimeType, data);
}

export function audioSource(mimeType: unknown, data: unknown): string | undefined {
  return dataUrl(AUDIO, mimeType, data);
}
