"""The towns of the world: where stores stand, in which timezone, with which streets and telephone numbers.

All of them pay in euro, so one currency goes with eleven timezones: with and without daylight saving time, east and
west of UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Town:
    """A town; `phone` is the country's and area's dialling code, `speech` picks people's names and notes."""

    name: str
    timezone: str
    speech: str
    phone: str
    latitude: Decimal
    longitude: Decimal
    streets: tuple[str, ...]


def _town(name: str, timezone: str, speech: str, phone: str, place: tuple[str, str], streets: str) -> Town:
    return Town(name, timezone, speech, phone, Decimal(place[0]), Decimal(place[1]), tuple(streets.split("|")))


TOWNS: tuple[Town, ...] = (
    _town("Berlin", "Europe/Berlin", "de", "+49 30", ("52.520008", "13.404954"),
          "Torstraße|Kastanienallee|Sonnenallee|Bergmannstraße|Warschauer Straße|Karl-Marx-Allee|Oranienstraße"),
    _town("Lisboa", "Europe/Lisbon", "pt", "+351 21", ("38.722252", "-9.139337"),
          "Rua Augusta|Rua da Bica|Avenida da Liberdade|Rua do Século|Calçada do Combro|Rua de São Bento"),
    _town("Helsinki", "Europe/Helsinki", "fi", "+358 9", ("60.169857", "24.938379"),
          "Mannerheimintie|Hämeentie|Bulevardi|Fredrikinkatu|Aleksanterinkatu|Runeberginkatu"),
    _town("Dublin", "Europe/Dublin", "en", "+353 1", ("53.349805", "-6.260310"),
          "Capel Street|Camden Street Lower|Dame Street|Thomas Street|Rathmines Road|Drumcondra Road"),
    _town("Madrid", "Europe/Madrid", "es", "+34 91", ("40.416775", "-3.703790"),
          "Calle de Alcalá|Calle de Fuencarral|Gran Vía|Calle del Pez|Calle de Embajadores|Calle de Ponzano"),
    _town("Athína", "Europe/Athens", "el", "+30 21", ("37.983810", "23.727539"),
          "Ermou|Athinas|Kolokotroni|Skoufa|Themistokleous|Leoforos Alexandras"),
    _town("Le Moule", "America/Guadeloupe", "fr", "+590 590", ("16.332900", "-61.345100"),
          "Rue Joffre|Boulevard Rougé|Rue Duchassaing|Rue de la Liberté|Avenue Gerty Archimède"),
    _town("Saint-Denis", "Indian/Reunion", "fr", "+262 262", ("-20.882057", "55.450675"),
          "Rue de Paris|Rue du Maréchal Leclerc|Rue Juliette Dodu|Avenue de la Victoire|Rue Sainte-Anne"),
    _town("Ponta Delgada", "Atlantic/Azores", "pt", "+351 296", ("37.739400", "-25.668700"),
          "Rua do Contador|Rua de Lisboa|Rua Machado dos Santos|Avenida Infante Dom Henrique"),
    _town("Las Palmas", "Atlantic/Canary", "es", "+34 928", ("28.123546", "-15.436257"),
          "Calle Triana|Calle León y Castillo|Paseo de las Canteras|Calle Mesa y López|Calle Tomás Morales"),
    _town("Cayenne", "America/Cayenne", "fr", "+594 594", ("4.922420", "-52.313453"),
          "Rue Lallouette|Avenue du Général de Gaulle|Rue Christophe Colomb|Route de Montabo"),
    _town("München", "Europe/Berlin", "de", "+49 89", ("48.135125", "11.581981"),
          "Sendlinger Straße|Leopoldstraße|Lindwurmstraße|Hohenzollernstraße|Fraunhoferstraße|Müllerstraße"),
)  # fmt: skip
