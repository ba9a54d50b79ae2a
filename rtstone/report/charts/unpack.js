// The page's data stands in it deflated and in base64.  It is unpacked before the page counts as
// loaded: what a browser prints or photographs without a reader has its charts.
import { strFromU8, unzlibSync } from "fflate";

export function unpack(id) {
  const text = atob(document.getElementById(id).textContent.trim());
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  return JSON.parse(strFromU8(unzlibSync(packed)));
}
