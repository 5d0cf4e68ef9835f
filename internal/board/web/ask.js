// ask asks the server; an answer with a message says why there is no other. A signal ends it.
export async function ask(what, query, signal) {
  try {
    const response = await fetch(`api/${what}?${new URLSearchParams(query)}`, { signal });
    const answer = await response.json();
    return response.ok ? answer : { message: answer.message ?? response.statusText };
  } catch {
    return { message: "kubectl skyhook board does not answer. If it has ended, start it again." };
  }
}
