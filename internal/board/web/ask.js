// ask asks the server; an answer with a message says why there is no other.
export async function ask(what, query) {
  try {
    const response = await fetch(`/api/${what}?${new URLSearchParams(query)}`);
    const answer = await response.json();
    return response.ok ? answer : { message: answer.message ?? response.statusText };
  } catch {
    return { message: "kubectl skyhook board does not answer. If it has ended, start it again." };
  }
}
