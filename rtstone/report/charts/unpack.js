// The page's data stands in it deflated and in base64.
export async function unpack(id) {
  const text = atob(document.getElementById(id).textContent.trim());
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(plain).json();
}
